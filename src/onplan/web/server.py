"""Serves the player on loopback: the page, the run, what is new in it, and what the person answers."""

from __future__ import annotations

import hmac
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from onplan.errors import ConfigError, OnplanError, PlanError, SessionNotFound, StoreError
from onplan.protocols import Holder
from onplan.revising import revise
from onplan.session import InboxRequest, leave_request
from onplan.stores.holder import this_process
from onplan.web.following import Following
from onplan.web.html import names, source
from onplan.web.run import Run

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_LONGEST = 1_000_000
_HEARTBEAT = 15.0


class PlanChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`base`: the revision that the person saw; 0 if the page does not say."""

    action: Literal["edit", "undo", "redo"]
    todos: tuple[dict[str, Any], ...] = ()
    base: int = 0


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the person says to a question. `reason` goes to the model."""

    call_id: str
    verdict: Literal["approve", "deny"]
    reason: str = ""


class Refused(Exception):
    """A request that is answered with a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def app(
    following: Following,
    *,
    token: str,
    port: int,
    holder: Holder | None = None,
    every: float = 0.25,
    ending: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """The server as an ASGI application.

    Every call of `api/` needs the token, as `Authorization: Bearer` or `?token=`; the files of the page hold
    nothing of a session. A request that names another host than loopback with this port is refused, so that
    no page on the web can reach it under a name of its own. `holder`: who writes a change of the plan while
    nobody holds the session. `every`: seconds between two looks at the log.
    """
    routes = _Routes(following, holder or this_process(), every, ending)
    served = Starlette(
        routes=[
            Route("/", _page),
            Route("/api/run", routes.run),
            Route("/api/seq", routes.seq),
            Route("/api/events", routes.events),
            Route("/api/plan", routes.plan, methods=["POST"]),
            Route("/api/approve", routes.approve, methods=["POST"]),
            Route("/{name}", _file),
        ],
        exception_handlers={Refused: _refused, OnplanError: _failed, Exception: _broken},  # pyright: ignore[reportArgumentType] # handlers take the exception they are for
    )
    return _Guard(served, token, port)


class _Routes:
    def __init__(
        self, following: Following, holder: Holder, every: float, ending: Callable[[], bool]
    ) -> None:
        self._following = following
        self._holder = holder
        self._every = every
        self._ending = ending

    async def run(self, request: Request) -> Response:
        await self._following.read()
        return _json(self._following.run())

    async def seq(self, request: Request) -> Response:
        """Whether this is still the server for the session: what a page asks before it connects again."""
        return _json({"seq": self._following.seq})

    async def events(self, request: Request) -> Response:
        """Server-sent events: `run` with a piece, `trouble` with one line, an empty one when it is over. The
        id of an event is the number of the last record in it: a browser goes on there when it connects
        again."""
        asked = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        after = int(asked) if asked.isdecimal() else 0
        return StreamingResponse(self._stream(after), media_type="text/event-stream")

    async def _stream(self, after: int) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        said = time.monotonic()
        trouble = ""
        async for piece in self._following.pieces(after, every=self._every, ending=self._ending):
            match piece:
                case Run():
                    trouble = ""
                    yield b"id: %d\nevent: run\ndata: %b\n\n" % (piece.seq, msgspec.json.encode(piece))
                case StoreError() if str(piece) != trouble:
                    trouble = str(piece)
                    yield b"event: trouble\ndata: %b\n\n" % msgspec.json.encode({"error": trouble})
                case None if trouble:
                    trouble = ""
                    yield b'event: trouble\ndata: {"error":""}\n\n'
                case _ if time.monotonic() - said < _HEARTBEAT:
                    continue
                case _:
                    yield b": still here\n\n"
            said = time.monotonic()

    async def plan(self, request: Request) -> Response:
        change = await _body(request, PlanChange)
        following = self._following
        inbox = InboxRequest(change.action, following.unmasked(change.todos), base=change.base)
        return _json(await revise(following.store, following.session, inbox, self._holder))

    async def approve(self, request: Request) -> Response:
        answer = await _body(request, Answer)
        following = self._following
        await following.read()
        if not following.is_asked(answer.call_id):
            raise Refused(409, "nobody is asked about this call any more")
        if not await self._is_held():
            raise Refused(409, "nobody has this session open any more, so that the call will not run")
        inbox = InboxRequest(answer.verdict, call_id=answer.call_id, reason=answer.reason)
        await leave_request(following.store, following.session, inbox)
        return _json({"done": "left"})

    async def _is_held(self) -> bool:
        """Whether there is somebody to take an answer: a session that was killed asks for ever in its log."""
        store, session = self._following.store, self._following.session
        if await store.claim(session, self._holder) is not None:
            return True
        await store.release(session, self._holder)
        return False


# --- the page ---------------------------------------------------------------------------------------


async def _page(request: Request) -> Response:
    return Response(source("index.html"), media_type="text/html; charset=utf-8")


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in names():
        raise Refused(404, "there is no such file")
    return Response(source(name), media_type=_TYPES[name.rpartition(".")[2]])


# --- requests and answers ---------------------------------------------------------------------------


async def _body(request: Request, kind: type[T]) -> T:
    """The JSON of a request. Only JSON: what a form of another page can send is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "send application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST:
            raise Refused(413, f"more than {_LONGEST:,} bytes")
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"not a request that is known: {error}") from None


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _refused(request: Request, error: Refused) -> Response:
    return _json({"error": str(error)}, error.status)


async def _failed(request: Request, error: OnplanError) -> Response:
    """A plan that breaks the rules, nothing to undo, a session that is gone or cannot be read."""
    status = 400 if isinstance(error, PlanError) else 404 if isinstance(error, SessionNotFound) else 500
    return _json({"error": str(error)}, status)


async def _broken(request: Request, error: Exception) -> Response:
    return _json({"error": f"internal error: {type(error).__name__}: {error}"}, 500)


class _Guard:
    """Lets nothing through but requests for this address, and none for the session without the token."""

    def __init__(self, inner: ASGIApp, token: str, port: int) -> None:
        self._inner = inner
        self._token = token.encode()
        self._hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._inner)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return _json({"error": f"this is {self._hosts[0]}, not {host[:100]}"}, 421)
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return _json({"error": "not from this page"}, 403)
        if request.url.path.startswith("/api/") and not self._has_token(request):
            return _json(
                {"error": "the token is missing or wrong: open the address that onplan play showed"}, 401
            )
        return None

    def _has_token(self, request: Request) -> bool:
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        given = sent if scheme.lower() == "bearer" else request.query_params.get("token", "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)


# --- serving ----------------------------------------------------------------------------------------


def listen(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes any that is free. Raises `ConfigError` for one that is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port"
        ) from None
    return listening


async def serve(following: Following, token: str, listening: socket.socket) -> None:
    """Serve until a signal ends it."""
    port = listening.getsockname()[1]
    server: uvicorn.Server
    ending: Callable[[], bool] = lambda: server.should_exit  # noqa: E731 - the server does not exist yet
    served = app(following, token=token, port=port, ending=ending)
    settings = uvicorn.Config(
        served,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        log_level="critical",
        timeout_graceful_shutdown=2,
        ws="none",
    )
    server = uvicorn.Server(settings)
    await server.serve(sockets=[listening])
