"""SEC-2: a secret that a common tool has turned into something else is hidden all the same."""

import shutil
import subprocess

import pytest

from hermes.secrets.redactor import Redactor

SECRET = "tok-9f3K_xQ7/vLm2+ZpR8wYb4"
BESIDE = "user=alice\nTOKEN={}\nmode=fast\n"
TOOLS = [
    *("cat", "rev", "base64", "base64 -w 20", "base64 -w 7", "base32", "base32 -w 16"),
    *("xxd", "xxd -p", "xxd -p -c 8", "xxd -u", "xxd -c 7", "xxd -g 1", "xxd -b -c 4 | cut -c1-0"),
    *("od -c", "od -An -c", "od -tx1", "od -An -tx1", "od -x", "od", "od -b", "od -An -tu1"),
    *("hexdump -C", "hexdump", "hexdump -c", "hd", "iconv -t UTF-16", "iconv -t UTF-16BE"),
    *("jq -sRr @uri", "jq -sR .", "jq -sRr @base64", "jq -sRr @html", "sed 's/./%&/g' | tr -d %"),
    *("od -An -tx1 | tr -d ' \\n'", "od -An -tx1 -v | tr ' ' '%'", "fold -w 1000"),
]


@pytest.mark.parametrize("prefix", ["", "a", "ab", "abc"], ids=repr)
@pytest.mark.parametrize("tool", TOOLS)
def test_sec_02_no_common_encoding_of_a_secret_leaks(tool: str, prefix: str) -> None:
    program = tool.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    given = (prefix + BESIDE.format(SECRET)).encode()
    done = subprocess.run(["bash", "-c", tool], input=given, capture_output=True, check=False)
    text = done.stdout.decode("utf-8", "replace").replace("\0", "")
    safe = Redactor([SECRET])(text)
    other = Redactor([SECRET])((prefix + BESIDE.format("")).strip())
    assert other == (prefix + BESIDE.format("")).strip()
    assert "•••" in safe or not text, (text, safe)


def test_sec_02_every_byte_in_percent_is_hidden() -> None:
    for form in ("%{:02X}", "%{:02x}", "\\x{:02x}"):
        text = "".join(form.format(byte) for byte in SECRET.encode())
        assert Redactor([SECRET])(f"a={text}&b") == "a=•••&b"


def test_sec_02_an_ordinary_dump_is_left_alone() -> None:
    done = subprocess.run(
        ["od", "-c"], input=b"nothing secret here\n" * 9, capture_output=True, check=True
    )
    text = done.stdout.decode()
    assert Redactor([SECRET])(text) == text
