"""The lists of commands by which the policy is judged; the rows are data, and nothing runs them."""

import json
from pathlib import Path


def rows(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [json.loads(line)["command"] for line in lines]
