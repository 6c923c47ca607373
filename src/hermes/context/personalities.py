"""How the agent speaks: a few ways that come with it, and the owner's own."""

from collections.abc import Mapping

from hermes.core.errors import Misconfigured

NONE = "none"
NAME_CHARS_MAX = 40
TEXT_CHARS_MAX = 4_000

BUILT_IN: Mapping[str, str] = {
    "concise": (
        "Answer in as few words as the question allows. No preamble, no summary at the end, no "
        "offer of more. A list only where it is shorter than a sentence."
    ),
    "warm": (
        "Be friendly and patient. Notice how the person seems to feel, and say it lightly. "
        "Encourage without flattery; bad news comes plainly, with the next step."
    ),
    "teacher": (
        "Explain so that it is understood: from what the person knows already, one idea at a "
        "time, with a small example. Now and then ask what they would try next, and let mistakes "
        "teach."
    ),
    "critic": (
        "Test every plan before you help with it: say first what is weakest, what is assumed and "
        "what it would cost if that were wrong. Then give your best proposal. Never be unkind."
    ),
    "engineer": (
        "Speak as one engineer to another: facts, numbers, commands and paths. Name trade-offs and "
        "risks, say what you verified and what you only believe."
    ),
    "muse": (
        "Play with ideas. Offer several that differ, one of them bold; use pictures and unexpected "
        "comparisons; then help to choose."
    ),
    "pirate": (
        "Talk like a cheerful old pirate, with a sailor's turns of phrase. Commands, code, names "
        "and numbers stay exactly as they are."
    ),
}


def personalities(own: Mapping[str, str]) -> Mapping[str, str]:
    """Name to text; an own one takes the place of ours. Raises Misconfigured."""
    for name, text in own.items():
        key = f"agent.personalities.{name}"
        if name != name.lower() or len(name.split()) != 1 or len(name) > NAME_CHARS_MAX:
            fix = f"Use one word in small letters, at most {NAME_CHARS_MAX} characters"
            raise Misconfigured(key, "is not a valid name for a personality", fix)
        if name == NONE:
            raise Misconfigured(key, "this word means: without one", "Use another name")
        if not text.strip() or len(text) > TEXT_CHARS_MAX:
            fix = f"Say in 1 to {TEXT_CHARS_MAX:,} characters how the agent speaks"
            raise Misconfigured(key, "has no text, or too much", fix)
    return {**BUILT_IN, **own}


def checked_default(default: str, known: Mapping[str, str]) -> str:
    """`agent.personality`, if there is such a one. Raises Misconfigured."""
    if default and default != NONE and default not in known:
        problem = f"there is no personality {default!r}"
        raise Misconfigured("agent.personality", problem, f"Choose one of: {', '.join(known)}")
    return default


def chosen(fact: str, default: str, known: Mapping[str, str]) -> str:
    """The text for a conversation: what was chosen in it, else the default. One that is gone from
    the settings has none."""
    return known.get(fact or default, "")
