"""One HTTP GET that reaches public addresses only: names, connections, redirects, bodies within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urljoin

from onplan._version import __version__
from onplan.errors import ToolError
from onplan.plan.text import one_line
from onplan.tools.addresses import Target, parse_target, special_kind

if TYPE_CHECKING:
    import httpx

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""From a host name and a port to its addresses. Raises `OSError` for a name that has none."""

_CONNECT_SECONDS = 5.0
_TRIED_AT_MOST = 4
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Bounds:
    """`allow_hosts`: hosts that may be at any address, as `Target.host` writes them."""

    max_bytes: int
    max_redirects: int
    allow_hosts: frozenset[str]
    resolve: Resolve


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of a server. `content_type`: the whole header. `is_cut`: there is more than `body`.

    `size`: bytes of the whole body, `None` where the server did not say. A body whose type is not
    wanted is not read: then `body` is `None`.
    """

    target: Target
    status: int
    content_type: str
    body: bytes | None
    is_cut: bool
    size: int | None


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """Ask the system's resolver.

    In a thread that nothing waits for: in the event loop's own a name server that does not answer would
    hold up a cancellation and the end of the program.
    """
    import socket

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[str, ...]] = loop.create_future()

    def settle(addresses: tuple[str, ...], error: OSError | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(addresses)

    def look_up() -> None:
        addresses: tuple[str, ...] = ()
        failure: OSError | None = None
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
        except (OSError, UnicodeError) as error:
            failure = error if isinstance(error, OSError) else OSError(str(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended in the meantime
            loop.call_soon_threadsafe(settle, addresses, failure)

    threading.Thread(target=look_up, daemon=True).start()
    return await answer


async def fetch(first: Target, bounds: Bounds, wanted: Callable[[str], bool]) -> Fetched:
    """GET `first` and follow its redirects. `wanted`: whether the body of a content type is to be read.

    Each address that a name resolves to must be public, at each redirect anew, and the connection goes to
    an address that was checked. Neither proxies nor credentials of the environment are used; no cookie is
    kept. Raises `ToolError` with one line for every failure.
    """
    import httpx

    context = httpx.create_ssl_context()
    target = first
    for _ in range(bounds.max_redirects + 1):
        try:
            answer = await _get(target, bounds, wanted, context)
        except ToolError as error:
            if target is first:
                raise
            raise ToolError(f"{first.authority} redirects to {target.authority}, and {error}") from None
        if isinstance(answer, Fetched):
            return answer
        target = answer
    raise ToolError(
        f"{first.authority} redirects more than {bounds.max_redirects} times, lastly to "
        f"{target.url[:200]}: try that, or another source"
    )


async def _get(
    target: Target, bounds: Bounds, wanted: Callable[[str], bool], context: ssl.SSLContext
) -> Fetched | Target:
    import httpx

    addresses = await _checked_addresses(target, bounds)
    try:
        for address in addresses[:-1]:
            with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await _get_from(address, target, bounds, wanted, context)
        return await _get_from(addresses[-1], target, bounds, wanted, context)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(_failure(error, target)) from None


async def _checked_addresses(target: Target, bounds: Bounds) -> tuple[str, ...]:
    try:
        is_address = target.is_address
        found = (target.host,) if is_address else await bounds.resolve(target.host, target.port)
    except OSError as error:
        raise ToolError(
            f"the name {target.host} could not be resolved ({error.strerror or error}): "
            "check its spelling, or whether there is a network here"
        ) from None
    if not found:
        raise ToolError(f"the name {target.host} has no address: check its spelling")
    if target.host in bounds.allow_hosts:
        return found[:_TRIED_AT_MOST]
    for address in found:
        if kind := special_kind(address):
            where = address if is_address else f"{target.host} ({address})"
            raise ToolError(
                f"{where} is {kind} address: web_fetch reaches public addresses only. "
                "If this is a server of the person's own, ask them"
            )
    return found[:_TRIED_AT_MOST]


async def _get_from(
    address: str, target: Target, bounds: Bounds, wanted: Callable[[str], bool], context: ssl.SSLContext
) -> Fetched | Target:
    import httpx

    request = httpx.Request(
        "GET",
        target.url_at(address),
        headers={
            "Host": target.authority,
            "User-Agent": f"onplan/{__version__}",
            "Accept": "text/markdown, text/html, text/plain, application/json, */*;q=0.5",
            "Accept-Encoding": "gzip",  # what we can unpack within bounds
            "Connection": "close",
        },
        extensions={"timeout": {"connect": _CONNECT_SECONDS}, "sni_hostname": target.host},
    )
    # A transport of its own: a kept connection to the same address may be verified for another host.
    async with httpx.AsyncHTTPTransport(verify=context, trust_env=False) as transport:
        response = await transport.handle_async_request(request)
        try:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return _redirected(target, response.headers["location"])
            return await _taken(response, target, bounds.max_bytes, wanted)
        finally:
            await response.aclose()


def _redirected(target: Target, location: str) -> Target:
    try:
        return parse_target(urljoin(target.url, location))
    except (ToolError, ValueError) as error:
        raise ToolError(f"{target.authority} redirects to a place that cannot be fetched: {error}") from None


async def _taken(
    response: httpx.Response, target: Target, max_bytes: int, wanted: Callable[[str], bool]
) -> Fetched:
    content_type = one_line(response.headers.get("content-type", ""))
    encoding = response.headers.get("content-encoding", "").strip().lower()
    length = response.headers.get("content-length", "")
    size = int(length) if not encoding and length.isascii() and length.isdecimal() else None
    if not wanted(content_type):
        return Fetched(target, response.status_code, content_type, None, False, size)
    unpack = _unpacker(encoding, target)
    body = bytearray()
    received = 0
    raw = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
    async with aclosing(raw) as chunks:
        async for chunk in chunks:
            received += len(chunk)
            body += unpack(chunk, max_bytes + 1 - len(body))
            if max(len(body), received) > max_bytes:
                del body[max_bytes:]
                return Fetched(target, response.status_code, content_type, bytes(body), True, size)
    return Fetched(target, response.status_code, content_type, bytes(body), False, len(body))


def _unpacker(encoding: str, target: Target) -> Callable[[bytes, int], bytes]:
    """What unpacks the next bytes of a body into at most so many: a small body can stand for gigabytes."""
    if encoding in ("", "identity"):
        return lambda data, room: data[:room]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolError(
            f"{target.authority} sent the encoding {one_line(encoding[:40])}, which was not asked for and "
            "cannot be unpacked: use another source"
        )
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(data: bytes, room: int) -> bytes:
        try:
            return unpacking.decompress(data, room)
        except zlib.error:
            raise ToolError(
                f"{target.authority} sent a damaged {encoding} body: try again, or use another source"
            ) from None

    return unpack


# --- words ------------------------------------------------------------------------------------------


def _failure(error: Exception, target: Target) -> str:
    import httpx

    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return (
                    f"the certificate of {target.host} is not valid ({cause.verify_message}): "
                    "check the host name, or use another source"
                )
            case ssl.SSLError():
                return (
                    f"no TLS connection to {target.authority} ({cause.reason or cause}): "
                    "check the port, and whether it is an http:// address"
                )
            case ConnectionRefusedError():
                return (
                    f"{target.authority} refused the connection: check the port, and whether the server runs"
                )
            case httpx.TimeoutException():
                return (
                    f"{target.authority} could not be reached within {_CONNECT_SECONDS:g} s: "
                    "try again later, or use another source"
                )
            case OSError() if cause.errno:
                return (
                    f"no connection to {target.authority} ({cause.strerror}): "
                    "check the address, or whether there is a network here"
                )
            case _:
                continue
    said = one_line(str(error))[:200] or type(error).__name__
    return (
        f"{target.authority} gave no whole HTTP answer ({said}): check the port, try again, or another source"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
