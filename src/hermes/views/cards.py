"""The card by which a person is asked about a call: the truth, in words that cannot be forged."""

import time

from hermes.core.grants import Grant
from hermes.core.messages import Call
from hermes.core.ports import Presented
from hermes.core.session import Session, Turn, speaker
from hermes.views.honest import honest

_READ = {
    "untrusted": "text that strangers wrote",
    "private": "something private",
    "secret": "a secret",
}


def card(session: Session, turn: Turn, call: Call, seen: Presented, why: str) -> list[str]:
    """All that a person needs to know, and nothing that could look like something else."""
    lines = [f"May I use {honest(call.tool)}?", "", seen.text, ""]
    lines += [f"- {note}" for note in seen.notes]
    lines.append(f"- why I ask: {honest(why)}")
    read = [words for label, words in _READ.items() if label in session.view.labels]
    if read:
        lines.append(f"- read before, in this conversation: {', '.join(read)}")
    lines.append(f"- wanted by {honest(speaker(session, turn).name)} ({turn.origin})")
    return lines


def offered(grant: Grant) -> str:
    template = grant.template
    if template is None:
        return "- “always” would allow exactly this call"
    scope = f" within {', '.join(map(honest, template.paths))}" if template.paths else ""
    words = [template.program, template.subcommand, *sorted(template.options), *template.operands]
    text = honest(" ".join(word for word in words if word))
    return f"- “always” would allow: {text}{scope}, with these options or fewer, for 30 days"


def time_of(at: float) -> str:
    return time.strftime("%d %b %H:%M UTC", time.gmtime(at))
