"""What a session remembers beside its transcript: small texts by name.

Events say `name` and `value`, so that a tool of any age can be replayed; a session has a field for
each name that is ours, so that a decision reads no string keys.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace


class SessionFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first ones belong to one conversation, and a new one begins without them."""

    title: str = ""
    prompt: str = ""  # the digest of the system prompt
    tools: str = ""  # the digest of the tools that the conversation was told of
    web_links: str = ""  # digests of the links that pages have shown
    shares_private: str = ""  # the owner let something private be read in it
    todo: str = ""
    todo_labels: str = ""
    model: str = ""  # another than the configured one
    personality: str = ""
    instructions: str = ""  # the sender's own
    workdir: str = ""  # where commands run
    came_from: str = ""  # where the sender's program was started
    other: dict[str, str] = {}  # of tools that are not ours

    def updated(self, new: Mapping[str, str]) -> "SessionFacts":
        """Return the facts with these; an empty value forgets one."""
        ours = {name: value for name, value in new.items() if name in _FIELDS}
        more = {**self.other, **{name: value for name, value in new.items() if name not in ours}}
        return replace(self, **ours, other={name: value for name, value in more.items() if value})

    def of_the_next_conversation(self) -> "SessionFacts":
        return replace(self, **dict.fromkeys(_OF_ONE, ""))

    def by_name(self) -> Mapping[str, str]:
        """Return all that is remembered, as tools read it."""
        ours = {name: value for name, value in asdict(self).items() if value and name in _FIELDS}
        return {**ours, **self.other}


_OF_ONE = ("title", "prompt", "tools", "web_links", "shares_private", "todo", "todo_labels")
_FIELDS = frozenset(SessionFacts.__struct_fields__) - {"other"}
