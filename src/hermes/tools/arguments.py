"""A model's arguments, from JSON text to a value, or to a sentence that the model can act on."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect

T = TypeVar("T", bound=Struct)


def no_rule(_arguments: Struct) -> str:
    return ""


class Arguments(Generic[T]):
    """The shape of one tool's arguments and the rule that its values keep.

    What is safe to mend is mended ("10" for 10, no text for {}). An argument that we do not know is
    reported and not dropped: the model meant something by it.
    """

    def __init__(self, shape: type[T], rule: Callable[[T], str] = no_rule) -> None:
        self._decoder = msgspec.json.Decoder(shape, strict=False)
        self._rule = rule
        fields = msgspec.structs.fields(shape)
        self._known = ", ".join(
            f"{field.encode_name} (required)" if field.required else field.encode_name
            for field in fields
        )

    def parse(self, text: str) -> T:
        """Raises ToolFailed with the sentence that `check` would give."""
        try:
            value = self._decoder.decode(text.strip() or "{}")
        except msgspec.MsgspecError as wrong:
            said = str(wrong).replace("`$.", "`")
            raise ToolFailed(
                f"Wrong arguments: {said}. The arguments are: {self._known}."
            ) from wrong
        problem = self._rule(value)
        if problem:
            raise ToolFailed(problem)
        return value

    def check(self, text: str) -> str:
        """What is wrong with them; empty when nothing is."""
        try:
            self.parse(text)
        except ToolFailed as wrong:
            return str(wrong)
        return ""

    def effect(self, classify: Callable[[T], Effect]) -> Callable[[str], Effect]:
        """A classifier of the text; what cannot be read counts as the worst."""

        def classified(text: str) -> Effect:
            try:
                return classify(self.parse(text))
            except ToolFailed:
                return Effect.EFFECT

        return classified
