"""Parts for the tests of people who build on onplan: scripted models, approvers and conformance suites."""

from onplan.models.scripted import Cut, ScriptedModel, load_script
from onplan.testing.approval import RecordingApprover, ScriptedAsker

__all__ = ["Cut", "RecordingApprover", "ScriptedAsker", "ScriptedModel", "load_script"]
