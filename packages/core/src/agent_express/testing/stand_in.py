"""A small server of our own that plays scripted bytes: a stand-in, which checks nothing and knows no provider.

async with stand_in(Reply((sse({"delta": "Hel"}),), then="hold")) as server:
    ...  # talk to server.url
    await (await server.received()).left.wait()  # the client has gone
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Then: TypeAlias = Literal["end", "drop", "hold", "silence"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the stand-in answers to one request.

    Attributes:
        chunks: The body, one write each.
        status: The HTTP status.
        headers: Headers beside `transfer-encoding` and `connection`.
        then: What follows the chunks. "end" completes the body; "drop" closes the connection in the middle of it;
            "hold" leaves it open until the client goes; "silence" sends nothing at all, not even a status line.
    """

    chunks: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    then: Then = "end"


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Make a reply of one JSON document."""
    written = json.dumps(body, ensure_ascii=False).encode()
    return Reply((written,), status, {"content-type": "application/json", **(headers or {})})


def sse(data: Any, event: str = "") -> bytes:
    """One server-sent event; *data* is sent as JSON, a string as it is."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


@dataclass(slots=True)
class Received:
    """One request as it came in.

    Attributes:
        headers: With names in lower case.
        left: Set once the connection is over: after "end" and "drop" at once, else when the client has gone.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class StandIn:
    """A server that plays replies and knows no provider: a stand-in, not a fake of anyone's API.

    Attributes:
        url: Its root.
        requests: What came in, oldest first.
        tasks: Those that serve an open connection.
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self._replies = tuple(replies)
        self._news = asyncio.Condition()

    async def received(self, index: int = 0) -> Received:
        """Wait until the request of that *index* has come in whole, and return it."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.requests) > index)
        return self.requests[index]

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of this connection."""
        try:
            request = await _receive(reader)
            if request is None:
                return
            reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
            async with self._news:
                self.requests.append(request)
                self._news.notify_all()
            try:
                await _send(reply, reader, writer)
            finally:
                request.left.set()
        except ConnectionError:
            return  # the client may leave at any time
        finally:
            writer.close()


@asynccontextmanager
async def stand_in(*replies: Reply) -> AsyncGenerator[StandIn]:
    """Run a `StandIn` on a free port: the n-th request gets the n-th reply, later ones the last."""
    stand = StandIn(replies)
    server = await asyncio.start_server(stand.connected, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    stand.url = f"http://{host}:{port}"
    try:
        yield stand
    finally:
        server.close()
        serving = list(stand.tasks)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def never_accepting() -> AsyncGenerator[str]:
    """The address of a socket that listens and never accepts: a client waits there until it gives up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()[:2]
        yield f"http://{host}:{port}"


async def _receive(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.rstrip("\r\n").split("\r\n")
        pairs = [each.partition(":") for each in fields]
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = line.split(" ", 2)
    return Received(method, path, headers, body)


async def _send(reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if reply.then != "silence":
        headers = {**reply.headers, "transfer-encoding": "chunked", "connection": "close"}
        lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        for chunk in reply.chunks:
            writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            await writer.drain()
    if reply.then == "end":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    elif reply.then != "drop":
        await reader.read()  # returns when the client has gone
