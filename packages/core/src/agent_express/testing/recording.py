"""Record the traffic with a real model once, and replay it in tests: no key, no network, the same answer each time.

    agent = Agent(cassette("tests/traffic/weather.jsonl", "openai:gpt-5"))

Replayed is what was recorded for exactly this request; a request that differs in one character is an error that
shows where. Secrets are taken out before anything is written, and requests are compared without them.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from ..errors import ModelError
from ..events import End, Event
from ..messages import ModelRequest, ModelResponse
from ..models import Model, resolve_model
from . import cassettes
from .cassettes import Cassette, Exchange
from .differences import differences
from .errors import CassetteError, MismatchError
from .plain import JSON, canonical, plain
from .scripted import ScriptedBase, ScriptItem, shape
from .scrubbing import Scrubber, Secret

Mode: TypeAlias = Literal["replay", "record", "auto"]
MODE_VARIABLE = "AGENT_EXPRESS_CASSETTES"


def cassette(
    path: str | Path,
    model: Model | str | Callable[[], Model],
    mode: Mode | None = None,
    *,
    secrets: Sequence[Secret] = (),
) -> Recorder | Replayer:
    """Return a model that replays what is recorded at *path*, or one that records *model* there.

    Args:
        path: The file; one per model.
        model: What to record. A name or a function is only resolved when recording, so a replay needs no key.
        mode: "replay"; "record" writes the file anew; "auto" replays where the file is there, else records. None
            reads the variable AGENT_EXPRESS_CASSETTES, "replay" without it.
        secrets: Taken out in addition to what `Scrubber` knows.

    Raises:
        ValueError: The mode is none of these.
        CassetteError: There is nothing to replay, or the file is damaged.
    """
    path = Path(path)
    chosen = mode or os.environ.get(MODE_VARIABLE) or "replay"
    if chosen not in get_args(Mode):
        source = "mode" if mode else MODE_VARIABLE
        raise ValueError(f"{source} is {chosen!r}, expected one of {', '.join(get_args(Mode))}")
    if chosen == "replay" or (chosen == "auto" and path.exists()):
        return Replayer(path, secrets=secrets)
    if isinstance(model, str):
        model = resolve_model(model)
    return Recorder(model if isinstance(model, Model) else model(), path, secrets=secrets)


class Recorder:
    """Pass requests on to *model* and keep the traffic in the file at *path*.

    The file is written anew, whole, whenever a stream has ended. Streams that fail with anything but a `ModelError`
    are not kept: an adapter raises nothing else, so that is a fault and not traffic.

    Args:
        model: The real model; its `init` and `dispose` are passed on.
        path: The file. One that holds the traffic of another model is refused, not overwritten.
        secrets: Taken out in addition to what `Scrubber` knows.

    Raises:
        CassetteError: At the end of the first stream: the file belongs to another model, or is none of ours.
    """

    def __init__(self, model: Model, path: str | Path, *, secrets: Sequence[Secret] = ()) -> None:
        self.model, self.path = model, Path(path)
        self._scrub = Scrubber(*secrets)
        self._exchanges: list[Exchange] = []

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self.model.name

    @property
    def context_window(self) -> int | None:
        """As the model says."""
        return cast("int | None", getattr(self.model, "context_window", None))

    @property
    def modalities(self) -> frozenset[str] | None:
        """As the model says."""
        return cast("frozenset[str] | None", getattr(self.model, "modalities", None))

    async def init(self) -> None:
        """Open the model, where it can be opened."""
        await _call(self.model, "init")

    async def dispose(self) -> None:
        """Close the model, where it can be closed."""
        await _call(self.model, "dispose")

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse], None]:
        """Stream what the model streams, and keep it."""
        asked, deltas = cassettes.dump_request(request), list[JSON]()
        outcome: dict[str, JSON] | None = {}
        try:
            stream = self.model.stream(request.replace(model=self.model))
            async with aclosing(cast(AsyncGenerator[Event | End[ModelResponse], None], stream)) as events:
                async for event in events:
                    if isinstance(event, End):
                        outcome = {"response": plain(event.result)}
                    else:
                        deltas.append(cassettes.dump_delta(event))
                    yield event
        except ModelError as error:
            outcome = {"error": cassettes.dump_error(error)}
            raise
        except Exception:
            outcome = None
            raise
        finally:
            if outcome is not None:
                self._keep(asked, deltas, outcome)

    def _keep(self, request: JSON, deltas: list[JSON], outcome: dict[str, JSON]) -> None:
        if not self._exchanges and self.path.exists():
            self._check_owner()
        sealed = self._scrub(seal(deltas, self._scrub))
        self._exchanges.append(Exchange(self._scrub(request), tuple(sealed), **self._scrub(outcome)))
        content = Cassette(self.name, tuple(self._exchanges), self.context_window, self.modalities)
        cassettes.write(self.path, content)

    def _check_owner(self) -> None:
        recorded = cassettes.read(self.path).model
        if recorded != self.name:
            raise CassetteError(
                f"{self.path} holds the traffic of {recorded!r} and would be overwritten with that of {self.name!r}: "
                f"give each model a file of its own, or delete this one"
            )


async def _call(model: Model, method: str) -> None:
    found = getattr(model, method, None)
    if found is not None:
        await found()


def seal(deltas: Sequence[JSON], scrub: Scrubber) -> list[JSON]:
    """Take secrets out that stretch over several deltas: the first one then holds the whole text, the others none."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for position, delta in enumerate(deltas):
        for field in ("text", "args"):
            if isinstance(delta.get(field), str):
                groups.setdefault((delta["type"], delta.get("index", 0), field), []).append(position)
    sealed = [dict(delta) for delta in deltas]
    for (_, _, field), positions in groups.items():
        whole = "".join(deltas[position][field] for position in positions)
        clean = scrub.text(whole)
        if clean != whole:
            for position in positions:
                sealed[position][field] = ""
            sealed[positions[0]][field] = clean
    return sealed


class Replayer(ScriptedBase):
    """Answer each request with what is recorded for it in the file at *path*.

    A record answers once; records of equal requests answer in their order. Requests may come in any order.

    Args:
        path: A file that a `Recorder` wrote.
        secrets: As they were given to the recorder.

    Attributes:
        requests: Every request so far.

    Raises:
        CassetteError: There is no such file, or it is damaged.
        MismatchError: While streaming: no unused record has this request. Says where the nearest one differs.
    """

    def __init__(self, path: str | Path, *, secrets: Sequence[Secret] = ()) -> None:
        self.path = Path(path)
        recorded = cassettes.read(self.path)
        super().__init__(recorded.model, context_window=recorded.context_window, modalities=recorded.modalities)
        self._scrub = Scrubber(*secrets)
        self._records = recorded.exchanges
        self._used: set[int] = set()

    @property
    def unused(self) -> tuple[ModelRequest, ...]:
        """The recorded requests that nobody has made."""
        left = [each for position, each in enumerate(self._records) if position not in self._used]
        return tuple(cassettes.load_request(each.request, self) for each in left)

    def _next(self, request: ModelRequest) -> ScriptItem:
        asked = self._scrub(cassettes.dump_request(request))
        wanted = canonical(asked)
        for position, record in enumerate(self._records):
            if position not in self._used and canonical(self._scrub(record.request)) == wanted:
                self._used.add(position)
                return lambda _: self._play(record, position)
        raise MismatchError(self._mismatch(asked))

    async def _play(self, record: Exchange, position: int) -> AsyncGenerator[Event | End[ModelResponse], None]:
        for delta in record.deltas:
            await self._give_way()
            yield cassettes.load_delta(delta)
        await self._give_way()
        if record.error is not None:
            raise cassettes.load_error(record.error)
        if record.response is None:
            raise MismatchError(
                f"{self.path}: record {position + 1} ends after {len(record.deltas)} deltas because its reader closed "
                f"the stream there; this reader went on: record it again"
            )
        yield End(cassettes.load_response(record.response))

    def _mismatch(self, asked: JSON) -> str:
        free = [position for position in range(len(self._records)) if position not in self._used]
        lines = [f"{self.path}: request {len(self.requests)} is not among the recorded ones that are left"]
        if free:
            near = min(free, key=lambda position: len(self._differences(position, asked)))
            lines.append(f"the nearest is record {near + 1}, {self._differences(near, asked)[0]}")
        lines += [self._line(position) for position in range(len(self._records))]
        lines.append(f"where the change is wanted, record again: {MODE_VARIABLE}=record")
        return "\n  ".join(lines)

    def _differences(self, position: int, asked: JSON) -> list[object]:
        return list(differences(self._scrub(self._records[position].request), asked))

    def _line(self, position: int) -> str:
        request = cassettes.load_request(self._records[position].request, self)
        return f"record {position + 1}{' (used)' if position in self._used else ''}: {shape(request)}"
