"""What is shown of the children of a turn while they work: one line each, as a tree.

Only glimpses: nothing of it is stored. It is made from the commits of this process; children on
another node are shown there.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from hermes.core.child_sessions import CALL, call_of_child
from hermes.core.ids import SessionKey, TurnId
from hermes.core.session import Idle, Session, Stage, Suspended
from hermes.core.signals import CallProgress, Emit, Signal
from hermes.text.plurals import counted
from hermes.views.amounts import tokens
from hermes.views.call_line import compact, cut

CHILDREN_MAX = 500  # that are remembered; the oldest are forgotten first
TITLE_CHARS, DOING_CHARS = 40, 50
DEPTH_MAX = 4


class _Child(Struct):
    parent: SessionKey
    turn: TurnId  # the parent's
    title: str
    doing: str
    began_at: float
    used: int
    over: bool = False


class FamilyLines(Struct, kw_only=True):
    emit: Emit
    clock: Callable[[], float]
    _children: dict[SessionKey, _Child] = field(default_factory=dict)

    def note(self, before: Session, after: Session) -> None:
        """A child has moved on: everybody above it sees that."""
        turn = after.turn or before.turn
        found = call_of_child(after.key)
        if turn is None or found is None or turn.address.platform != CALL:
            return
        if turn.options.report_to is not None:  # no call waits for it
            return
        known = self._children.pop(after.key, None)
        self._children[after.key] = _Child(
            parent=SessionKey(turn.address.chat),
            turn=TurnId(found[0].rpartition("-")[0]),
            title=cut(turn.options.title or "a task", TITLE_CHARS),
            doing=_doing(after),
            began_at=turn.started_at if known is None else known.began_at,
            used=turn.tokens,
            over=after.turn is None or isinstance(after.phase, Suspended),
        )
        while len(self._children) > CHILDREN_MAX:
            del self._children[next(iter(self._children))]
        self._tell(after.key)

    def _tell(self, key: SessionKey) -> None:
        for _ in range(DEPTH_MAX):
            child, found = self._children.get(key), call_of_child(key)
            if child is None or found is None:
                return
            call = found[0]
            family = [k for k in self._children if (call_of_child(k) or ("", 0))[0] == call]
            text = "\n".join(line for k in sorted(family, key=_part) for line in self._lines(k, 0))
            progress = CallProgress(call, f"{text}\n", replaces=True)
            self.emit(Signal(child.parent, child.turn, progress))
            key = child.parent

    def _lines(self, key: SessionKey, depth: int) -> Iterator[str]:
        child = self._children[key]
        took = f"{max(self.clock() - child.began_at, 0):.0f} s, " if not child.over else ""
        indent = f"{'  ' * (depth - 1)}└ " if depth else ""
        yield f"{indent}{child.title}: {child.doing} ({took}{tokens(child.used)} tokens)"
        below = [k for k, each in self._children.items() if each.parent == key]
        for each in sorted(below, key=_part) if depth < DEPTH_MAX else ():
            yield from self._lines(each, depth + 1)


def _part(key: SessionKey) -> tuple[str, int]:
    return call_of_child(key) or ("", 0)


def _doing(session: Session) -> str:
    turn = session.turn
    if turn is None or isinstance(session.phase, Idle):
        return "done"
    if isinstance(session.phase, Suspended):
        return "suspended"
    if session.questions:
        return "waits for your answer"
    if session.children:
        return f"waits for {counted(len(session.children), 'subagent')}"
    calls = [state.call for state in turn.call_states if state.stage is Stage.STARTED]
    return compact(calls[0], DOING_CHARS) if calls else "thinking"
