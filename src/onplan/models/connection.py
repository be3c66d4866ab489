"""What every real model shares around a request: one client for each event loop, retries, and errors in
one line each; knows no SDK."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from onplan.errors import ModelError
from onplan.messages import Assistant
from onplan.protocols import Delta


class Client(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=Client)


class PerLoop(Generic[C]):
    """One client for each event loop: its connections cannot be used in another."""

    def __init__(self, make: Callable[[], C]) -> None:
        self._make = make
        self._made: tuple[asyncio.AbstractEventLoop, C] | None = None

    def get(self) -> C:
        loop = asyncio.get_running_loop()
        if self._made is None or self._made[0] is not loop:
            self._made = (loop, self._make())
        return self._made[1]

    async def close(self) -> None:
        made, self._made = self._made, None
        if made and made[0] is asyncio.get_running_loop():
            await made[1].close()


# --- errors -----------------------------------------------------------------------------------------


class ServerError(ModelError):
    """`retry_after`: seconds that the server asks to wait, where it does."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        too_long: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, too_long=too_long)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model answers, in words for errors. `key`: the variable that holds its key."""

    model: str
    url: str
    key: str

    def refused(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> ServerError:
        """The error of an answer that is one. `kind`: the provider's own word for it, or empty."""
        said = f": {told}" if (told := _one_line(message)) else ""
        wait = retry_after(headers or {})
        if _is_too_long(kind, message):
            return ServerError(
                f"the conversation is too long for {self.model}{said}. Start a new session, or take a model "
                "with a longer context",
                too_long=True,
            )
        if kind in ("insufficient_quota", "billing_error") or status == 402:
            return ServerError(f"the account at {self.url} has no credit left{said}")
        if status == 401 or kind == "authentication_error":
            return ServerError(f"{self.url} refused the key: set {self.key} to a valid one{said}")
        if status == 403 or kind == "permission_error":
            return ServerError(f"{self.url} does not let this key use {self.model}{said}")
        if status == 404 or kind == "not_found_error":
            return ServerError(
                f"{self.url} knows no model {self.model!r}: check --model and the address{said}"
            )
        if status == 429 or kind in ("rate_limit_error", "rate_limit_exceeded"):
            return ServerError(
                f"{self.url} limits the rate of requests: wait a little and go on{said}",
                retryable=True,
                retry_after=wait,
            )
        if status in (502, 503, 529) or kind in ("overloaded_error", "slow_down"):
            return ServerError(
                f"{self.url} is overloaded: go on in a minute{said}", retryable=True, retry_after=wait
            )
        if status in (408, 409) or status >= 500 or kind in ("api_error", "timeout_error", "server_error"):
            return ServerError(
                f"{self.url} failed ({status or kind}){said}", retryable=True, retry_after=wait
            )
        return ServerError(f"{self.url} refused the request ({status or kind or 'error'}){said}")

    def unreachable(self, cause: BaseException | None) -> ServerError:
        return ServerError(
            f"no connection to {self.url}: is the server running, and the address right?{_because(cause)}",
            retryable=True,
        )

    def silent(self, seconds: float) -> ServerError:
        return ServerError(
            f"{self.url} sent nothing for {seconds:g} s: it is stuck, or the model is too slow",
            retryable=True,
        )

    def cut(self, why: str = "") -> ServerError:
        return ServerError(
            f"the stream from {self.url} was cut{f' ({_one_line(why)})' if why else ''}", retryable=True
        )


def _because(cause: BaseException | None) -> str:
    told = _one_line(str(cause)) if cause else ""
    return f" ({told})" if told else ""


def _one_line(text: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= 300 else f"{line[:299]}…"


_TOO_LONG = (
    "prompt is too long",
    "maximum context length",
    "context_length_exceeded",
    "exceed_context_size",
    "exceeds the available context size",
    "context window",
    "context length",
    "exceed context limit",
    "request_too_large",
)


def _is_too_long(kind: str, message: str) -> bool:
    told = f"{kind} {message}".casefold()
    return any(words in told for words in _TOO_LONG)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date."""
    found = {name.casefold(): value for name, value in headers.items()}
    if (milliseconds := _number(found.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    asked = found.get("retry-after")
    if (seconds := _number(asked)) is not None:
        return seconds
    date = email.utils.parsedate_tz(asked) if asked else None
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


# --- retries ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a request is repeated, and after how many seconds: `first`, then twice as long each time up
    to `longest`, less a random quarter. A server that asks for more than `patience` is not waited for."""

    tries: int = 6
    first: float = 0.5
    longest: float = 16.0
    patience: float = 120.0

    def delay(self, tried: int, error: ServerError) -> float | None:
        """Seconds to the next try; `None` if there is none."""
        if not error.retryable or tried >= self.tries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        jitter = 1 - random.random() / 4
        return min(self.longest, self.first * 2 ** (tried - 1)) * jitter


PATIENT = Retry()

Attempt = Callable[[], AsyncGenerator[Delta | Assistant, None]]


async def persistently(attempt: Attempt, retry: Retry) -> AsyncIterator[Delta | Assistant]:
    """What an attempt yields; another one if it fails before any text of the reply was shown.

    Raises `ServerError` of the last attempt. Closing this closes the attempt, and so its HTTP response.
    """
    for tried in range(1, retry.tries + 1):
        shown = False
        try:
            async with aclosing(attempt()) as items:
                async for item in items:
                    shown = shown or (isinstance(item, Delta) and item.kind == "text")
                    yield item
            return
        except ServerError as error:
            delay = None if shown else retry.delay(tried, error)
            if delay is None:
                raise
        await asyncio.sleep(delay)
