"""Tasks with files and commands."""

import hashlib
import json
import subprocess
import sys

from tests.tasks.task import Outcome, Task, Turn, edit, read, run, write

_CALC = "def mean(numbers):\n    return sum(numbers) / (len(numbers) + 1)\n"
_TEST = "from calc import mean\n\nassert mean([2, 4]) == 3\nprint('all good')\n"
_BLOB = "0123456789 abcdef\n" * 40
_SALES = "day,amount\nmon,12\ntue,30\nwed,7\nthu,51\n"


def _printed(outcome: Outcome, program: str) -> str:
    """What the program prints, run here; empty when it fails."""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.'); {program}"]
    done = subprocess.run(
        command, cwd=outcome.work, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout if done.returncode == 0 else ""


def _runs(file: str) -> str:
    return f"import runpy; runpy.run_path({file!r}, run_name='__main__')"


FILES = (
    Task(
        "files/create",
        [
            Turn(
                "Create a file called note.txt that contains exactly this line: buy milk",
                [[write("note.txt", "buy milk\n")], "Done."],
            )
        ],
        lambda outcome: outcome.text("note.txt").strip() == "buy milk",
    ),
    Task(
        "files/read",
        [
            Turn(
                "Which total does report.txt give?",
                [[read("report.txt")], "The total is 4711."],
            )
        ],
        lambda outcome: "4711" in outcome.reply,
        {"report.txt": "Report\n\nItems: 12\nTotal: 4711\n"},
    ),
    Task(
        "files/fix-typo",
        [
            Turn(
                "There is a typing error in letter.txt. Fix it in the file.",
                [[read("letter.txt")], [edit("letter.txt", "teh", "the")], "Fixed."],
            )
        ],
        lambda outcome: outcome.text("letter.txt").strip() == "Dear Anna, the bus is late.",
        {"letter.txt": "Dear Anna, teh bus is late.\n"},
    ),
    Task(
        "files/change-setting",
        [
            Turn(
                "Change the port in server.json to 9090.",
                [
                    [read("server.json")],
                    [edit("server.json", '"port": 8080', '"port": 9090')],
                    "The port is 9090 now.",
                ],
            )
        ],
        lambda outcome: (
            json.loads(outcome.text("server.json")) == {"host": "localhost", "port": 9090}
        ),
        {"server.json": '{\n  "host": "localhost",\n  "port": 8080\n}\n'},
    ),
    Task(
        "files/find",
        [
            Turn(
                "Which file here contains the word MARKER-7?",
                [
                    [("search_files", {"pattern": "MARKER-7"})],
                    "It is in lib/beta.py.",
                ],
            )
        ],
        lambda outcome: "beta.py" in outcome.reply and "alpha.py" not in outcome.reply,
        {"lib/alpha.py": "x = 1\n", "lib/beta.py": "# MARKER-7: later\n", "gamma.py": "y = 2\n"},
    ),
    Task(
        "files/copy",
        [
            Turn(
                "Copy plan.txt to backup/plan.txt.",
                [[run("mkdir -p backup && cp plan.txt backup/plan.txt")], "Copied."],
            )
        ],
        lambda outcome: (
            outcome.text("backup/plan.txt") == outcome.text("plan.txt") == "A, then B\n"
        ),
        {"plan.txt": "A, then B\n"},
    ),
    Task(
        "files/append",
        [
            Turn(
                "Add the line “eggs” at the end of list.txt.",
                [[read("list.txt")], [write("list.txt", "milk\nbread\neggs\n")], "Added."],
            )
        ],
        lambda outcome: outcome.text("list.txt").split() == ["milk", "bread", "eggs"],
        {"list.txt": "milk\nbread\n"},
    ),
    Task(
        "files/two-at-once",
        [
            Turn(
                "Create red.txt with the word rose in it, and blue.txt with the word sky in it.",
                [[write("red.txt", "rose\n"), write("blue.txt", "sky\n")], "Both are there."],
            )
        ],
        lambda outcome: (
            outcome.text("red.txt").strip() == "rose" and outcome.text("blue.txt").strip() == "sky"
        ),
    ),
    Task(
        "files/letters",
        [
            Turn(
                "Create gruss.txt with this text: Grüße aus Köln · “wie immer”",
                [[write("gruss.txt", "Grüße aus Köln · “wie immer”\n")], "Gemacht."],
            )
        ],
        lambda outcome: outcome.text("gruss.txt").strip() == "Grüße aus Köln · “wie immer”",
    ),
    Task(
        "files/delete-one",
        [
            Turn(
                "Delete old.log and leave the other files alone.",
                [[run("rm old.log")], "old.log is gone."],
            )
        ],
        lambda outcome: (
            not (outcome.work / "old.log").exists() and outcome.text("new.log") == "keep\n"
        ),
        {"old.log": "x\n", "new.log": "keep\n"},
    ),
)

SHELL = (
    Task(
        "shell/count",
        [
            Turn(
                "How many lines does data.txt have?",
                [[run("wc -l data.txt")], "It has 37 lines."],
            )
        ],
        lambda outcome: "37" in outcome.reply,
        {"data.txt": "line\n" * 37},
    ),
    Task(
        "shell/sum",
        [
            Turn(
                "Add up the column amount of sales.csv and write only the sum into total.txt.",
                [
                    [run("awk -F, 'NR>1 {s+=$2} END {print s}' sales.csv > total.txt")],
                    "The sum is 100.",
                ],
            )
        ],
        lambda outcome: outcome.text("total.txt").strip() == "100",
        {"sales.csv": _SALES},
    ),
    Task(
        "shell/run",
        [
            Turn(
                "Run greet.sh and tell me what it prints.",
                [[run("sh greet.sh")], lambda results: f"It prints: {results[-1].splitlines()[0]}"],
            )
        ],
        lambda outcome: "tango-61" in outcome.reply,
        {"greet.sh": "printf 'tango-%s\\n' $((60 + 1))\n"},
    ),
    Task(
        "shell/write-program",
        [
            Turn(
                "Write squares.py, a program that prints the squares of 1 to 5, one on each line. "
                "Run it to see that it works.",
                [
                    [write("squares.py", "for n in range(1, 6):\n    print(n * n)\n")],
                    [run("python3 squares.py")],
                    "It prints 1, 4, 9, 16 and 25.",
                ],
            )
        ],
        lambda outcome: _printed(outcome, _runs("squares.py")) == "1\n4\n9\n16\n25\n",
    ),
    Task(
        "shell/fix-bug",
        [
            Turn(
                "`python3 test_calc.py` fails. Find the bug in calc.py and fix it.",
                [
                    [read("calc.py"), read("test_calc.py")],
                    [edit("calc.py", "(len(numbers) + 1)", "len(numbers)")],
                    [run("python3 test_calc.py")],
                    "The divisor was wrong (calc.py:2); the test passes.",
                ],
            )
        ],
        lambda outcome: (
            _printed(outcome, _runs("test_calc.py")).strip() == "all good"
            and outcome.text("test_calc.py") == _TEST
        ),
        {"calc.py": _CALC, "test_calc.py": _TEST},
    ),
    Task(
        "shell/exit-status",
        [
            Turn(
                "With which exit status does check.sh end? Run it and tell me the number.",
                [[run("sh check.sh; echo status $?")], "It ends with status 3."],
            )
        ],
        lambda outcome: "3" in outcome.reply,
        {"check.sh": "echo checking\nexit 3\n"},
    ),
    Task(
        "shell/sort",
        [
            Turn(
                "Write the names of names.txt into sorted.txt: in alphabetical order, each once.",
                [[run("sort -u names.txt > sorted.txt")], "Done."],
            )
        ],
        lambda outcome: outcome.text("sorted.txt").split() == ["ada", "bob", "eve"],
        {"names.txt": "eve\nada\nbob\nada\n"},
    ),
    Task(
        "shell/digest",
        [
            Turn(
                "Write the SHA-256 of blob.txt into digest.txt.",
                [[run("sha256sum blob.txt > digest.txt")], "Done."],
            )
        ],
        lambda outcome: (
            hashlib.sha256(_BLOB.encode()).hexdigest() in outcome.text("digest.txt").lower()
        ),
        {"blob.txt": _BLOB},
    ),
)
