"""A fork server: it has everything imported, and every line of its input is the life of one child.

Each child is a real process and is really killed; forking only spares it the imports.
"""

import asyncio
import gc
import json
import os
import sys
import traceback
from pathlib import Path

from tests.crash.fuse import Fuse
from tests.crash.world import Case, live


def one_life(order: dict[str, object]) -> int:
    home = Path(str(order["home"]))
    fuse = Fuse(at=int(str(order["at"])), how=order["how"], trace=home / "trace")  # type: ignore[arg-type]
    case = Case(
        home=home,
        fuse=fuse,
        on_doubt=str(order["on_doubt"]),
        messages=int(str(order["messages"])),
        asks=bool(order["asks"]),
        clarifies=bool(order["clarifies"]),
        delegates=bool(order["delegates"]),
        scheduled=bool(order["scheduled"]),
    )
    try:
        asyncio.run(live(case))
    except BaseException:  # noqa: BLE001 (whatever it was, the test must read it)
        (home / "traceback").write_text(traceback.format_exc(), encoding="utf-8")
        return 1
    return 0


def main() -> None:
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(one_life(json.loads(line)))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
