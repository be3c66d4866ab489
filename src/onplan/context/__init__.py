"""What a session is told of the directory it works in: instruction files, and what git has not committed."""

from onplan.context.files import Context, InstructionFile, load_context, own_files, told_of_changes
from onplan.context.git import GitState, git_state
from onplan.context.hooks import context_hooks

__all__ = [
    "Context",
    "GitState",
    "InstructionFile",
    "context_hooks",
    "git_state",
    "load_context",
    "own_files",
    "told_of_changes",
]
