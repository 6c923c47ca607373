"""Collect the reasons to ask about a command, or to refuse it."""

REASONS_MAX = 5


class Reasons:
    def __init__(self) -> None:
        self.questions: list[str] = []
        self.refusals: list[str] = []
        self.writes = False
        self.boxed = True  # all questions so far are about code that a closed box holds

    def ask_about_code(self, why: str) -> None:
        """Ask, as `ask` does; a person may answer for all code of a folder."""
        before = self.boxed
        self.ask(why)
        self.boxed = before

    def ask(self, why: str) -> None:
        self.boxed = False
        if why not in self.questions and len(self.questions) < REASONS_MAX:
            self.questions.append(why)

    def refuse(self, why: str) -> None:
        if why not in self.refusals and len(self.refusals) < REASONS_MAX:
            self.refusals.append(why)

    def harmless(self) -> str:
        return "it writes only in the workspace" if self.writes else "it only reads"
