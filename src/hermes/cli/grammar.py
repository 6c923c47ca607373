"""The first words of the command line, in the order of --help, and where each leads.

What a family of commands takes and says of itself is loaded when its word is seen, and not before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes.cli.command import Command

    Commands = Sequence[Command[object]]


class Family:
    """The commands that begin with one word. `alone` is what follows it when nothing does; a word
    that is a command by itself has none."""

    def __init__(self, heading: str, load: Callable[[], "Commands"], alone: str = "") -> None:
        self.heading = heading
        self.load = load
        self.alone = alone


def _chat() -> "Commands":
    from hermes.cli.talk_grammar import CHAT

    return (CHAT,)


def _send() -> "Commands":
    from hermes.cli.talk_grammar import SEND

    return (SEND,)


def _setup() -> "Commands":
    from hermes.cli.setup_grammar import SETUP

    return (SETUP,)


def _model() -> "Commands":
    from hermes.cli.model_grammar import MODEL

    return MODEL


def _tools() -> "Commands":
    from hermes.cli.tools_grammar import TOOLS

    return TOOLS


def _gateway() -> "Commands":
    from hermes.cli.gateway_grammar import GATEWAY

    return GATEWAY


def _sessions() -> "Commands":
    from hermes.cli.sessions_grammar import SESSIONS

    return SESSIONS


def _turns() -> "Commands":
    from hermes.cli.turns_grammar import TURNS

    return TURNS


def _config() -> "Commands":
    from hermes.cli.config_grammar import CONFIG

    return CONFIG


def _prompt() -> "Commands":
    from hermes.cli.prompt_grammar import SHOW

    return (SHOW,)


def _memory() -> "Commands":
    from hermes.cli.memory_grammar import MEMORY

    return MEMORY


def _skills() -> "Commands":
    from hermes.cli.skills_grammar import SKILLS

    return SKILLS


def _approvals() -> "Commands":
    from hermes.cli.approvals_grammar import APPROVALS

    return APPROVALS


def _pairing() -> "Commands":
    from hermes.cli.pairing_grammar import PAIRING

    return PAIRING


def _policy() -> "Commands":
    from hermes.cli.policy_grammar import CHECK

    return (CHECK,)


def _audit() -> "Commands":
    from hermes.cli.audit_grammar import AUDIT

    return AUDIT


def _insights() -> "Commands":
    from hermes.cli.insights_grammar import INSIGHTS

    return (INSIGHTS,)


def _doctor() -> "Commands":
    from hermes.cli.doctor_grammar import DOCTOR

    return (DOCTOR,)


def _backup() -> "Commands":
    from hermes.cli.backup_grammar import BACKUP

    return (BACKUP,)


def _restore() -> "Commands":
    from hermes.cli.backup_grammar import RESTORE

    return (RESTORE,)


def _demo() -> "Commands":
    from hermes.cli.demo_grammar import CRASH

    return (CRASH,)


FAMILIES: Mapping[str, Family] = {
    "chat": Family("Talk", _chat),
    "send": Family("Talk", _send),
    "setup": Family("Set up", _setup),
    "model": Family("Set up", _model, alone="choose"),
    "tools": Family("Set up", _tools, alone="list"),
    "gateway": Family("Gateway", _gateway, alone="run"),
    "sessions": Family("Conversations", _sessions, alone="list"),
    "turns": Family("Conversations", _turns, alone="list"),
    "config": Family("Settings", _config, alone="show"),
    "prompt": Family("Settings", _prompt, alone="show"),
    "memory": Family("Memory", _memory, alone="show"),
    "skills": Family("Skills", _skills, alone="list"),
    "approvals": Family("Safety", _approvals, alone="list"),
    "pairing": Family("Safety", _pairing, alone="list"),
    "policy": Family("Safety", _policy, alone="check"),
    "audit": Family("Safety", _audit, alone="show"),
    "insights": Family("Care", _insights),
    "doctor": Family("Care", _doctor),
    "backup": Family("Care", _backup),
    "restore": Family("Care", _restore),
    "demo": Family("Care", _demo, alone="crash"),
}


def commands() -> Iterator["Command[object]"]:
    """All of them, in the order of --help. This loads every family."""
    for family in FAMILIES.values():
        yield from family.load()
