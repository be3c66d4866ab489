"""What a line of bash would do, as a verdict: a function on text that runs nothing and opens nothing."""

from __future__ import annotations

from onplan.shellguard.judge import judge
from onplan.shellguard.verdict import Command, Decision, Rule, Verdict

__all__ = ["Command", "Decision", "Rule", "Verdict", "judge"]
