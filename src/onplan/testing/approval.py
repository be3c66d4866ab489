"""An approver for tests: answers from a list or a function, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onplan.protocols import Approval, Approved, Question, Rejected


class RecordingApprover:
    """Approves everything, or answers each question in turn from `answers` (the last one repeats), or by
    a function of the question. `questions` holds what it was asked, in order."""

    def __init__(self, answers: Sequence[Approval] | Callable[[Question], Approval] = (Approved(),)) -> None:
        self._answers = answers
        self.questions: list[Question] = []

    async def approve(self, question: Question) -> Approval:
        self.questions.append(question)
        if callable(self._answers):
            return self._answers(question)
        if not self._answers:
            return Rejected(nobody=True)
        return self._answers[min(len(self.questions), len(self._answers)) - 1]


class ScriptedAsker:
    """Answers the model's questions from a list; when it is used up, nobody is there."""

    def __init__(self, answers: Sequence[str] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    async def ask(self, question: str, choices: Sequence[str]) -> str | None:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else None
