"""The provider kit passes a right adapter, and each of its cases catches the flaw it is there for."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ContextOverflowError,
    ModelError,
    ProviderUnavailableError,
    RateLimitError,
    UnsupportedError,
)
from agent_express.events import End, Event, TextDelta, ToolCallDelta
from agent_express.messages import Image, Message, ModelRequest, ModelResponse, Text, ToolCall, ToolResult, Usage
from agent_express.testing.provider_kit import USAGE, ProviderKit, Refusal, Spoken
from agent_express.testing.stand_in import Reply, json_reply, sse

KINDS: dict[str, type[ModelError]] = {
    "rate_limit": RateLimitError,
    "wrong_key": AuthenticationError,
    "context_overflow": ContextOverflowError,
    "unknown_model": BadRequestError,
    "overloaded": ProviderUnavailableError,
}


class TinyModel:
    """An adapter for a made-up provider, whose events are {"text": ...}, {"call": ...}, {"args": ...}, {"end": ...}.

    Args:
        url: Where the provider is.
        flaw: What it does wrong; empty for nothing.
    """

    name = "tiny:1"

    def __init__(self, url: str, flaw: str = "") -> None:
        self.place, self.flaw = urlsplit(url), flaw
        self.kept: list[Any] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse]]:
        said: list[str] = []
        calls: list[ToolCall] = []
        usage: dict[str, int] | None = None
        whole = False
        if self.flaw == "task":
            self.kept.append(asyncio.create_task(asyncio.sleep(3600)))
        async with aclosing(self._received(self._body(request))) as events:
            async for event in events:
                if "error" in event and self.flaw != "deaf":
                    raise KINDS[event["error"]](self.name)
                if "text" in event:
                    said.append(event["text"])
                    if self.flaw != "in one":
                        yield TextDelta(event["text"])
                if "call" in event:
                    calls.append(ToolCall(event["call"]["id"], event["call"]["name"], ""))
                    yield ToolCallDelta(len(calls) - 1, call_id=calls[-1].id, name=calls[-1].name)
                if "args" in event:
                    at = 0 if self.flaw == "mixed" else len(calls) - 1
                    calls[at] = calls[at].replace(args=calls[at].args + event["args"])
                    if self.flaw != "args in one":
                        yield ToolCallDelta(at, event["args"])
                if "end" in event:
                    whole, usage = True, event["end"]
        if not whole and self.flaw != "trusting":
            raise ProviderUnavailableError(f"{self.name}: the stream broke off")
        if self.flaw == "in one":
            yield TextDelta("".join(said))
        yield End(self._response(said, calls, usage))

    def _response(self, said: list[str], calls: list[ToolCall], usage: dict[str, int] | None) -> ModelResponse:
        if self.flaw == "tidy":
            calls = [call if call.args.endswith("}") else call.replace(args="{}") for call in calls]
        if self.flaw == "strict":
            for call in calls:
                call.parsed()
        parts = [Text("".join(said))] if said and not (calls and self.flaw == "no text") else []
        none = 0 if self.flaw == "zero" else None
        tokens = Usage(*(usage.values() if usage else (none, none)))
        finish = "tool_calls" if calls and self.flaw != "stop" else "stop"
        return ModelResponse(Message("assistant", [*parts, *calls]), tokens, finish)  # type: ignore[arg-type]

    def _body(self, request: ModelRequest) -> bytes:
        """Everything that is said, in a list."""
        said: list[Any] = [{"tools": [tool.name for tool in request.tools]}]
        messages = request.messages[-1:] if self.flaw == "forgetful" else request.messages
        for message in messages:
            for part in message.parts:
                match part:
                    case Image(data=bytes(data)) if self.flaw == "unsure":
                        raise UnsupportedError(f"{self.name}: no pictures")
                    case Image(data=bytes(data)) if self.flaw != "blind":
                        said.append({"image": base64.b64encode(data).decode(), "media_type": part.media_type})
                    case Text():
                        said.append({"text": part.text})
                    case ToolCall():
                        said.append({"call": part.id, "args": part.args})
                        if self.flaw == "strict history" and part.invalid is not None:
                            raise BadRequestError(self.name)
                    case ToolResult():
                        said.append({"result": part.call_id, "text": part.text})
                    case _:
                        pass
        return json.dumps(said).encode()

    async def _received(self, body: bytes) -> AsyncGenerator[dict[str, Any]]:
        """The events of one request; the connection is closed with this generator."""
        for tries_left in reversed(range(2 if self.flaw == "stubborn" else 1)):
            reader, writer = await self._connect()
            try:
                async with aclosing(self._exchange(reader, writer, body)) as events:
                    async for event in events:
                        yield event
                return
            except RateLimitError:
                if not tries_left:
                    raise
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                if self.flaw == "leaky":
                    raise
                raise ProviderUnavailableError(f"{self.name}: {error}") from error
            except ValueError as error:
                raise ProviderUnavailableError(f"{self.name}: {error}", retryable=self.flaw != "final") from error
            except asyncio.CancelledError:
                if self.flaw != "deaf to cancel":
                    raise
            finally:
                if self.flaw == "open":
                    self.kept.append(writer)
                else:
                    writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            connection = await asyncio.open_connection(self.place.hostname, self.place.port)
        except OSError as error:
            if self.flaw == "offline":
                raise
            raise ProviderUnavailableError(f"{self.name}: {error}") from error
        if self.flaw == "shielded":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        return connection

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes
    ) -> AsyncGenerator[dict[str, Any]]:
        writer.write(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = int(head.split(" ", 2)[1])
        text = b""
        async with aclosing(pieces(reader)) as body_pieces:
            async for piece in body_pieces:
                text += piece.decode(errors="ignore").encode() if self.flaw == "mangling" else piece
                if status != 200:
                    continue
                *events, text = text.split(b"\n\n")
                for event in events:
                    yield json.loads(event.removeprefix(b"data: "))
        if status != 200:
            raise self._refusal(status, json.loads(text)["error"], head)

    def _refusal(self, status: int, why: str, head: str) -> ModelError:
        kind = ModelError if self.flaw == "vague" else KINDS[why]
        wait = float(head.partition("retry-after: ")[2].split("\r\n")[0] or 0) or None
        if self.flaw == "impatient":
            wait = None
        return kind(f"{self.name}: {why}", retry_after=wait, status=status)


async def pieces(reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    """The chunks of an HTTP body."""
    while line := await reader.readline():
        size = int(line, 16)
        yield await reader.readexactly(size)
        await reader.readexactly(2)
        if size == 0:
            return
    raise ConnectionResetError("the body was not whole")


class TestARightAdapter(ProviderKit):
    flaw = ""

    def model(self, url: str, *, key: str = "kit") -> TinyModel:
        return TinyModel(url, self.flaw)

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        events: list[dict[str, Any]] = []
        for part in parts:
            text, field = (part.text, "text") if isinstance(part, Text) else (part.args, "args")
            if isinstance(part, ToolCall):
                events.append({"call": {"id": part.id, "name": part.name}})
            half = len(text) // 2
            events += [{field: text[:half]}, {field: text[half:]}]
        tokens = usage and {"in": usage.input_tokens, "out": usage.output_tokens}
        return Spoken(tuple(sse(event) for event in events), (sse({"end": tokens}),))

    def broken(self) -> bytes:
        return sse({"error": "overloaded"})

    def refusal(self, why: Refusal) -> Reply:
        status = {"rate_limit": 429, "wrong_key": 401, "context_overflow": 400, "unknown_model": 404}[why]
        return json_reply({"error": why}, status, {"retry-after": "7"} if why == "rate_limit" else {})


FLAWS = [
    ("mangling", "test_a_complete_answer_has_its_text_usage_and_finish_reason"),
    ("in one", "test_the_deltas_joined_are_the_final_text_and_end_comes_last"),
    ("zero", "test_missing_usage_is_none_and_not_zero"),
    ("forgetful", "test_two_user_messages_in_a_row_are_sent_both"),
    ("forgetful", "test_a_tool_call_and_its_result_make_the_round_trip"),
    ("stop", "test_a_tool_call_and_its_result_make_the_round_trip"),
    ("args in one", "test_tool_arguments_are_streamed"),
    ("mixed", "test_parallel_calls_keep_their_order_ids_and_arguments"),
    ("no text", "test_parallel_calls_keep_their_order_ids_and_arguments"),
    ("tidy", "test_malformed_tool_arguments_arrive_as_the_model_wrote_them"),
    ("strict", "test_malformed_tool_arguments_arrive_as_the_model_wrote_them"),
    ("strict history", "test_a_call_with_repaired_arguments_can_be_sent_back"),
    ("blind", "test_an_image_is_sent_with_its_bytes_or_refused_by_name"),
    ("unsure", "test_an_image_is_sent_with_its_bytes_or_refused_by_name"),
    ("deaf", "test_an_error_event_in_mid_stream_is_a_retryable_error"),
    ("trusting", "test_a_stream_that_ends_too_early_is_retryable_wherever_it_is_cut"),
    ("leaky", "test_a_connection_that_drops_is_retryable_wherever_it_drops"),
    ("final", "test_an_event_that_cannot_be_read_is_a_retryable_error"),
    ("offline", "test_a_server_that_cannot_be_reached_is_retryable"),
    ("open", "test_closing_the_stream_early_closes_the_connection"),
    ("task", "test_closing_the_stream_early_closes_the_connection"),
    ("open", "test_cancelling_an_unanswered_call_closes_it_and_leaves_no_task"),
    ("task", "test_cancelling_an_unanswered_call_closes_it_and_leaves_no_task"),
    ("deaf to cancel", "test_cancelling_an_unanswered_call_closes_it_and_leaves_no_task"),
    ("shielded", "test_cancelling_while_connecting_ends_at_once_and_leaves_no_task"),
    ("impatient", "test_a_rate_limit_says_how_long_to_wait"),
    ("stubborn", "test_a_rate_limit_says_how_long_to_wait"),
    ("vague", "test_a_refused_key_is_an_authentication_error"),
    ("vague", "test_a_request_that_is_too_long_is_a_context_overflow"),
    ("vague", "test_an_unknown_model_is_a_bad_request"),
]


class FlawedAdapter(TestARightAdapter):
    """The same kit over an adapter with one flaw; it loses patience sooner."""

    __test__ = False
    patience = 0.5

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw
        self.models: list[TinyModel] = []

    def model(self, url: str, *, key: str = "kit") -> TinyModel:
        self.models.append(super().model(url, key=key))
        return self.models[-1]

    async def clean_up(self) -> None:
        """Close what the flaw left open."""
        for kept in [each for model in self.models for each in model.kept]:
            if isinstance(kept, asyncio.Task):
                kept.cancel()
                await asyncio.wait({kept})
            else:
                kept.close()


@pytest.mark.parametrize(("flaw", "case"), FLAWS)
async def test_a_case_catches_the_flaw_it_is_there_for(flaw: str, case: str) -> None:
    kit = FlawedAdapter(flaw)
    try:
        with pytest.raises((AssertionError, ValueError, ModelError)):
            await getattr(kit, case)()
    finally:
        await kit.clean_up()


def test_every_case_of_the_kit_is_known_to_catch_something() -> None:
    cases = {name for name in vars(ProviderKit) if name.startswith("test_")}
    assert cases == {case for _, case in FLAWS}


async def test_an_adapter_that_reads_no_pictures_must_say_so() -> None:
    for flaw, refuses in [("unsure", True), ("blind", False)]:
        kit = FlawedAdapter(flaw)
        kit.images = False
        caught = None
        try:
            await kit.test_an_image_is_sent_with_its_bytes_or_refused_by_name()
        except AssertionError as error:
            caught = error
        assert (caught is None) is refuses


@pytest.mark.parametrize("missing", ["model", "spoken", "broken", "refusal"])
def test_what_an_adapter_has_not_filled_in_says_what_it_must_return(missing: str) -> None:
    class Empty(ProviderKit):
        pass

    arguments: dict[str, tuple[Any, ...]] = {"model": ("http://x",), "refusal": ("rate_limit",)}
    with pytest.raises(NotImplementedError, match=rf"Empty\.{missing}\(.*\) must return"):
        getattr(Empty(), missing)(*arguments.get(missing, ()))
