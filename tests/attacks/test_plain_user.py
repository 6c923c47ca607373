"""SBX-2 to SBX-8 and RES once more as a plain user, where the suite itself is run by root.

Each suite runs in a process of its own, as a user that owns nothing but its temporary folder, in a
mount namespace in which this Python and this checkout can be reached by everybody.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLAIN = 1_999_999_999  # belongs to nobody
SUITES = ("kernel", "matrix", "walls", "bypasses", "detached", "network", "appetite", "outside")
TOOLS = ("unshare", "mount", "setpriv")
ENDS_S = 600

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="everything runs as a plain user already"),
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="util-linux is not here"),
]


@pytest.fixture
def place() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="plain-user-"))
    (made / "home").mkdir()
    for folder in (made, made / "home"):
        os.chown(folder, PLAIN, PLAIN)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def opened_words(stage: Path) -> str:
    """Return shell code that makes our files reachable: a closed folder is covered by an empty one
    that contains only them."""
    words: list[str] = []
    needed = dict.fromkeys(str(Path(path)) for path in (ROOT, sys.prefix, sys.base_prefix))
    for number, path in enumerate(needed):
        closed = [up for up in Path(path).parents if up.stat().st_mode & 0o001 == 0]
        if not closed:
            continue
        kept, cover = quote(f"{stage}/{number}"), quote(str(closed[-1]))
        words += [f"mkdir {kept}", f"mount --bind {quote(path)} {kept}"]
        words += [f"mount -t tmpfs -o mode=755 none {cover}", f"mkdir -p {quote(path)}"]
        words += [f"mount --bind {kept} {quote(path)}"]
    return " && ".join([*words, 'exec "$@"'])


@pytest.mark.parametrize("suite", SUITES)
def test_sbx_03_a_plain_user_has_the_same_walls(suite: str, place: Path) -> None:
    words = opened_words(place)
    ids = ("--reuid", str(PLAIN), "--regid", str(PLAIN), "--clear-groups")
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        "HOME": f"{place}/home",
        "USER": "plain",
        "TMPDIR": str(place),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ended = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", words, "sh"),
            *("setpriv", *ids, sys.executable, "-m", "pytest", "-q", "-x"),
            *("-p", "no:cacheprovider", f"--basetemp={place}/t", f"{HERE}/test_{suite}.py"),
        ],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=ENDS_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert " passed" in ended.stdout
