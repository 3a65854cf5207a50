"""The floors: what plain Python pays for what the framework does, written by hand for this one purpose.

One turn is: model call, tool calls, model call, text. Model and tool are functions in this process that answer at once.

- `PlainFloor`: nested async closures around a loop, dicts as messages. Nobody could build on it; nothing is cheaper.
- `ExpressFloor`: the least that an Express has to do: hooks on four levels, each with a `next` of its own that takes
  no argument and refuses a second call, slotted contexts, messages of parts. It has no log and no state.
- `pull` and `push`: a stream of deltas iterated directly, and handed through a bounded channel between two tasks,
  which is what lets a hook that only awaits `next()` cost next to nothing per delta; `push_through_plain` and
  `push_through_express` put such hooks around it.

They import nothing of the framework, so that a change there cannot move them.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Level: TypeAlias = Literal["session", "turn", "model", "tool"]
LEVELS: tuple[Level, ...] = ("session", "turn", "model", "tool")


async def lookup(q: str) -> str:
    """The tool of every floor."""
    return "ok:" + q


# --- plain nested closures ------------------------------------------------------------------------

Plain: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]


async def plain_hook(ctx: dict[str, Any], next: Plain) -> Any:
    """A hook that does nothing."""
    return await next(ctx)


def nest(hook: Callable[[dict[str, Any], Plain], Awaitable[Any]], inner: Plain) -> Plain:
    """Put *hook* around *inner*."""

    def layer(ctx: dict[str, Any]) -> Awaitable[Any]:
        return hook(ctx, inner)

    return layer


class PlainFloor:
    """A loop with closures around it.

    Args:
        layers: No-op hooks on each of *levels*.
        levels: Where they stand.
        calls: Tool calls in the model's first answer; more than one run in parallel.
    """

    def __init__(self, layers: int = 0, levels: Sequence[Level] = LEVELS, calls: int = 1) -> None:
        self._chains: dict[str, Plain] = {}
        for level in LEVELS:
            chain: Plain = getattr(self, f"_{level}")
            for _ in range(layers if level in levels else 0):
                chain = nest(plain_hook, chain)
            self._chains[level] = chain
        self._wanted = [{"id": f"c{n}", "name": "lookup", "args": '{"q": "x"}'} for n in range(calls)]

    async def run(self, text: str = "hi") -> str:
        """One turn."""
        ctx: dict[str, Any] = {"messages": [{"role": "user", "text": text}]}
        return str(await self._chains["session"](ctx))

    async def _session(self, ctx: dict[str, Any]) -> str:
        return str(await self._chains["turn"](ctx))

    async def _turn(self, ctx: dict[str, Any]) -> str:
        messages = ctx["messages"]
        while True:
            answer = await self._chains["model"](ctx)
            messages.append(answer)
            if not (calls := answer["calls"]):
                return str(answer["text"])
            if len(calls) == 1:
                messages.append(await self._chains["tool"](calls[0]))
            else:
                messages += await asyncio.gather(*map(self._chains["tool"], calls))

    async def _model(self, ctx: dict[str, Any]) -> dict[str, Any]:
        if ctx["messages"][-1]["role"] == "user":
            return {"role": "assistant", "text": "", "calls": self._wanted}
        return {"role": "assistant", "text": "done", "calls": ()}

    async def _tool(self, call: dict[str, Any]) -> dict[str, Any]:
        return {"role": "tool", "id": call["id"], "text": await lookup(**json.loads(call["args"]))}


# --- the least an Express has to do ---------------------------------------------------------------


@dataclass(slots=True)
class Message:
    """What was said, in parts: texts, tool calls, tool results."""

    role: str
    parts: tuple[Any, ...]


@dataclass(slots=True)
class Call:
    """A tool call as the model wrote it."""

    id: str
    name: str
    args: str


@dataclass(slots=True)
class End:
    """The last item of the model's stream."""

    message: Message
    tokens: int


@dataclass(slots=True)
class SessionContext:
    """What one conversation shares."""

    session_id: str
    history: list[Message] = field(default_factory=list[Message])


@dataclass(slots=True)
class TurnContext:
    """One turn."""

    session: SessionContext
    turn_id: str
    input: str
    tokens: int = 0
    output: Message | None = None


@dataclass(slots=True)
class ModelContext:
    """One model call; its request is made anew."""

    turn: TurnContext
    system: tuple[str, ...]
    messages: tuple[Message, ...]


@dataclass(slots=True)
class ToolContext:
    """One tool call."""

    turn: TurnContext
    call: Call
    args: dict[str, Any]


async def express_hook(ctx: Any, next: Callable[[], Awaitable[Any]]) -> Any:
    """A hook that does nothing."""
    return await next()


Chain: TypeAlias = tuple[Callable[..., Awaitable[Any]], ...]


class Next:
    """One layer's way on: refuses a second call while the first runs or after it succeeded."""

    __slots__ = ("_at", "_chain", "_ctx", "_taken")

    def __init__(self, chain: Chain, at: int, ctx: Any) -> None:
        self._chain, self._at, self._ctx = chain, at, ctx
        self._taken = False

    async def __call__(self) -> Any:
        if self._taken:
            raise RuntimeError("next() was called twice")
        self._taken = True
        chain, at, ctx = self._chain, self._at, self._ctx
        try:
            if at == len(chain) - 1:
                return await chain[at](ctx)
            return await chain[at](ctx, Next(chain, at + 1, ctx))
        except BaseException:
            self._taken = False
            raise


class ExpressFloor:
    """A hand-written agent with hooks on four levels. The arguments are those of `PlainFloor`."""

    def __init__(self, layers: int = 0, levels: Sequence[Level] = LEVELS, calls: int = 1) -> None:
        self._chains: dict[str, Chain] = {
            level: (*[express_hook] * (layers if level in levels else 0), getattr(self, f"_{level}"))
            for level in LEVELS
        }
        self._tools = {"lookup": lookup}
        self._wanted = Message("assistant", tuple(Call(f"c{n}", "lookup", '{"q": "x"}') for n in range(calls)))

    async def run(self, text: str = "hi") -> str:
        """One turn in a session of its own."""
        session = SessionContext(secrets.token_hex(8))
        turn = TurnContext(session, secrets.token_hex(8), text)
        await Next(self._chains["session"], 0, turn)()
        assert turn.output is not None
        return str(turn.output.parts[0])

    async def _session(self, turn: TurnContext) -> None:
        await Next(self._chains["turn"], 0, turn)()

    async def _turn(self, turn: TurnContext) -> None:
        session = turn.session
        session.history.append(Message("user", (turn.input,)))
        while True:
            ctx = ModelContext(turn, ("be brief",), tuple(session.history))
            answer: End = await Next(self._chains["model"], 0, ctx)()
            turn.tokens += answer.tokens
            session.history.append(answer.message)
            calls = [part for part in answer.message.parts if isinstance(part, Call)]
            if not calls:
                turn.output = answer.message
                return
            if len(calls) == 1:
                results = [await self._call(turn, calls[0])]
            else:
                results = await asyncio.gather(*[self._call(turn, call) for call in calls])
            session.history += results

    async def _call(self, turn: TurnContext, call: Call) -> Message:
        try:
            text = await Next(self._chains["tool"], 0, ToolContext(turn, call, json.loads(call.args)))()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        return Message("tool", ((call.id, text),))

    async def _model(self, ctx: ModelContext) -> End:
        async for item in self._stream(ctx):
            if isinstance(item, End):
                return item
        raise RuntimeError("the stream ended without End")

    async def _stream(self, ctx: ModelContext) -> AsyncIterator[str | End]:
        if ctx.messages[-1].role == "user":
            yield End(self._wanted, 10)
        else:
            yield End(Message("assistant", ("done",)), 10)

    async def _tool(self, ctx: ToolContext) -> str:
        return await self._tools[ctx.call.name](**ctx.args)


# --- streams --------------------------------------------------------------------------------------


async def source(deltas: int) -> AsyncIterator[str]:
    """A stream that suspends before each delta, as one that comes from a socket does."""
    for _ in range(deltas):
        await asyncio.sleep(0)
        yield "tok "


async def pull(deltas: int) -> int:
    """Iterate the source directly."""
    seen = 0
    async for _ in source(deltas):
        seen += 1
    return seen


async def push(deltas: int, room: int = 64) -> int:
    """Let a task send the source through a channel that holds *room* deltas, and read it here."""
    channel = Channel(room)
    return await _read(channel, send_all(channel, deltas))


async def push_through_plain(deltas: int, hooks: int) -> int:
    """`push`, with *hooks* plain hooks around what sends."""
    channel = Channel(64)

    def core(_ctx: dict[str, Any]) -> Awaitable[None]:
        return send_all(channel, deltas)

    chain: Plain = core
    for _ in range(hooks):
        chain = nest(plain_hook, chain)

    async def work() -> None:
        await chain({})

    return await _read(channel, work())


async def push_through_express(deltas: int, hooks: int) -> int:
    """`push`, with *hooks* express hooks around what sends."""
    channel = Channel(64)

    def core(_ctx: None) -> Awaitable[None]:
        return send_all(channel, deltas)

    return await _read(channel, Next((*[express_hook] * hooks, core), 0, None)())


async def _read(channel: Channel, work: Coroutine[Any, Any, None]) -> int:
    """Let a task do *work*, which sends into *channel*, and read it here."""
    sender = asyncio.create_task(work)
    seen = 0
    while batch := await channel.receive():
        seen += len(batch)
    await sender
    return seen


async def send_all(channel: Channel, deltas: int) -> None:
    """Send the source, then end the stream."""
    async for delta in source(deltas):
        await channel.send(delta)
    channel.close()


class Channel:
    """Bounded hand-over from senders to one reader."""

    __slots__ = ("_closed", "_items", "_reader", "_room", "_writers")

    def __init__(self, room: int) -> None:
        self._room = room
        self._items: deque[str] = deque()
        self._closed = False
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()

    async def send(self, item: str) -> None:
        """Hand *item* on; waits while the reader is behind."""
        while len(self._items) >= self._room:
            writer = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer
        self._items.append(item)
        self._wake_reader()

    async def receive(self) -> deque[str]:
        """The waiting items, at least one; none at the end."""
        while not self._items and not self._closed:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        batch, self._items = self._items, deque()
        while self._writers:
            writer = self._writers.popleft()
            if not writer.done():
                writer.set_result(None)
        return batch

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wake_reader()

    def _wake_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)
