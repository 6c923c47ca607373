"""The program's first line: answers --version at once, hands everything else to the CLI."""

import sys

from hermes import __version__


def main() -> int:
    """Run one command line; the console script `hermes` and `python -m hermes` both come here."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"hermes {__version__}")
        return 0
    try:
        # Imported here and nowhere earlier: --version must not pay for the rest of the program.
        from hermes.cli.main import main as run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # at whatever moment it comes, it is one line
        sys.stderr.write("\n" * sys.stderr.isatty() + "hermes: stopped by Ctrl+C\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
