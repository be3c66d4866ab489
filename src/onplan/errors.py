"""The exception tree. Every error that onplan raises on purpose is an `OnplanError` with one clear line.

OnplanError
├── PlanError          a plan that breaks its rules (`faults` lists every one)
├── ToolError          a tool's own failure: becomes an error result, the run goes on
├── ToolDefinitionError  a tool that cannot be offered as it is written
├── ModelError         the model could not answer (`retryable`: asking again may help; `too_long`)
├── StoreError         the session log could not be read or written
│   ├── SessionNotFound  no session has that id
│   └── SessionBusy    another process holds the session
└── ConfigError        settings, flags or environment that cannot be used
"""

from __future__ import annotations


class OnplanError(Exception):
    """Base of all. `str(error)` is one line for a person: the thing and the way out."""


class PlanError(OnplanError, ValueError):
    """A plan that breaks its rules."""

    def __init__(self, *faults: str) -> None:
        super().__init__(faults[0] if faults else "invalid plan")
        self.faults = faults


class ToolError(OnplanError):
    """A tool's own failure, in words for the model."""


class ToolDefinitionError(OnplanError, TypeError):
    """A tool that cannot be offered as it is written."""


class ModelError(OnplanError):
    """The model could not answer. `too_long`: the conversation is longer than it takes."""

    def __init__(self, message: str, *, retryable: bool = False, too_long: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.too_long = too_long


class StoreError(OnplanError):
    """The session log could not be read or written."""


class SessionNotFound(StoreError):
    """No session has that id."""


class SessionBusy(StoreError):
    """Another process holds the session, or has written to it since it was read."""


class ConfigError(OnplanError):
    """Settings, flags or environment that cannot be used."""
