"""Finds messages that say the same thing with other numbers, names or addresses."""

from __future__ import annotations

import re

_PLACEHOLDERS = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<ip>"),
    (re.compile(r"\"[^\"]*\"|'[^']*'"), "<text>"),
    (re.compile(r"\b\d+(?:\.\d+)?"), "<n>"),
)


def shape_of(message: str) -> str:
    """The message with its changing parts replaced, so that repetitions can be counted.

    >>> shape_of("user 'kim' logged in from 10.0.0.7 after 3 tries")
    'user <text> logged in from <ip> after <n> tries'
    """
    for pattern, placeholder in _PLACEHOLDERS:
        message = pattern.sub(placeholder, message)
    return message
