"""Leave a home of Hermes Agent, another program, untouched: offer another home."""

from msgspec.structs import replace

from hermes.cli.context import CliContext
from hermes.cli.gateway.setup import questions_of
from hermes.settings.home import BESIDE, check_owner, home_beside, prepare


def elsewhere(context: CliContext) -> CliContext:
    """Return the context with a home of our own, if the person at the terminal agrees; it is then
    used from the next start on. Raise Misconfigured without an agreement, or when HERMES_HOME is
    set."""
    console = context.console
    asked = console.stdin.isatty() and console.stderr.isatty()
    if context.environ.get("HERMES_HOME") or not asked:
        check_owner(context.home)
    questions = questions_of(context, asks=True)
    questions.tell(f"{context.home} is a home of Hermes Agent, another program. It stays as it is.")
    questions.tell("Its conversations cannot be imported yet; you can start with a separate home.")
    try:
        agreed = questions.agreed(f"Use {BESIDE} from now on?", default=True)
    except EOFError:
        agreed = False
    if not agreed:
        check_owner(context.home)
    beside = home_beside()
    prepare(beside)
    return replace(context, home=beside)
