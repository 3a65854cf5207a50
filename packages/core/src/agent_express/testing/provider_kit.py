"""The provider test kit: what every model adapter must do, run over real sockets.

An adapter's tests subclass `ProviderKit` and say how their provider would put things into bytes:

    class TestMyModel(ProviderKit):
        def model(self, url, *, key="kit"):
            return MyModel("my-1", base_url=url, api_key=key)

        def spoken(self, *parts, usage=USAGE): ...
        def broken(self): ...
        def refusal(self, why): ...

Every case serves these bytes from a `StandIn` and looks only at what the adapter makes of them, so the provider's own
server is not needed. Cases with servers written by others are in `llmock_kit` and `aimock_kit`.
"""

from __future__ import annotations

import asyncio
import base64
import gc
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pytest

from ..errors import (
    AuthenticationError,
    BadRequestError,
    ContextOverflowError,
    ModelError,
    ProviderUnavailableError,
    RateLimitError,
    UnsupportedError,
)
from ..events import End, TextDelta, ToolCallDelta
from ..messages import Image, Message, ModelRequest, Text, ToolCall, ToolResult, Usage
from ..models import Model, complete
from .kit_checks import WEATHER, ask, cancel, events_of, fails, left, opened, response_of, same, stream_of, true, within
from .stand_in import Reply, StandIn, never_accepting, stand_in

Refusal: TypeAlias = Literal["rate_limit", "wrong_key", "context_overflow", "unknown_model"]

USAGE = Usage(input_tokens=11, output_tokens=7)
RETRY_AFTER = 7.0
"""Seconds that the refusal "rate_limit" asks to wait."""
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer in the bytes of one provider's stream, one event per item.

    Attributes:
        opening: Everything that may be cut off: without *closing* the answer is not whole.
        closing: What makes it whole: the finish reason, the usage, the last event.
    """

    opening: tuple[bytes, ...]
    closing: tuple[bytes, ...]

    def reply(self) -> Reply:
        """The whole answer as a reply."""
        return Reply(self.opening + self.closing)


class ProviderKit:
    """The cases; subclass it as `class TestMyModel(ProviderKit)` and override the four methods below.

    Attributes:
        entries: Names in `agent_express.models` that it is for, where a package ships a kit for only some of its own.
        images: Whether the model reads pictures. Where it does not, it must say so with `UnsupportedError`.
        patience: Seconds after which a case counts as hanging; none comes near it when the adapter is right.
    """

    pytestmark = pytest.mark.asyncio
    entries: tuple[str, ...] = ()
    images = True
    patience = 30.0

    # --- what an adapter fills in ---------------------------------------------------------------

    def model(self, url: str, *, key: str = "kit") -> Model:
        """Return a new model whose provider is at *url*, "http://127.0.0.1:<port>", without a path."""
        raise NotImplementedError(f"{type(self).__name__}.model(url) must return the model under test")

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        """Return the stream in which the provider says *parts*.

        A text comes in at least two deltas. `ToolCall.args` is what the model wrote, sent in at least two pieces and
        not parsed. *usage* None: the provider reports none.
        """
        raise NotImplementedError(f"{type(self).__name__}.spoken(*parts) must return the provider's stream")

    def broken(self) -> bytes:
        """Return the event by which the provider reports in mid-stream that it is overloaded."""
        raise NotImplementedError(f"{type(self).__name__}.broken() must return the provider's error event")

    def refusal(self, why: Refusal) -> Reply:
        """Return the provider's answer to a request it refuses; "rate_limit" asks to wait `RETRY_AFTER` seconds."""
        raise NotImplementedError(f"{type(self).__name__}.refusal(why) must return the provider's refusal")

    # --- answers --------------------------------------------------------------------------------

    async def test_a_complete_answer_has_its_text_usage_and_finish_reason(self) -> None:
        """The text survives any split of the bytes, in the middle of a character too."""
        whole = b"".join(self.spoken(Text("Grüße aus Oslo, 12 °C 🌦")).reply().chunks)
        pieces = tuple(whole[at : at + 7] for at in range(0, len(whole), 7))
        async with self._serving(Reply(pieces)) as (model, _):
            response = await complete(model, ask(model, "How is Oslo?"))
        same(response.message.role, "assistant", "the role")
        same(response.message.text, "Grüße aus Oslo, 12 °C 🌦", "the text")
        same(response.finish_reason, "stop", "the finish reason")
        same(response.usage.input_tokens, USAGE.input_tokens, "the input tokens")
        same(response.usage.output_tokens, USAGE.output_tokens, "the output tokens")

    async def test_the_deltas_joined_are_the_final_text_and_end_comes_last(self) -> None:
        """One `End`, as the last item; more than one delta before it."""
        async with self._serving(self.spoken(Text("one two three four")).reply()) as (model, _):
            events = await events_of(model, ask(model, "Count."))
        pieces = [event.text for event in events if isinstance(event, TextDelta)]
        true(len(pieces) > 1, f"the text came in {len(pieces)} delta, expected it piece by piece")
        same("".join(pieces), "one two three four", "the deltas, joined")
        same(response_of(events).message.text, "one two three four", "the final text")
        same([isinstance(event, End) for event in events].index(True), len(events) - 1, "the place of End")

    async def test_missing_usage_is_none_and_not_zero(self) -> None:
        """What the provider does not report stays unknown."""
        async with self._serving(self.spoken(Text("hello there"), usage=None).reply()) as (model, _):
            response = await complete(model, ask(model, "Hello."))
        same(response.usage, Usage(), "the usage")

    async def test_two_user_messages_in_a_row_are_sent_both(self) -> None:
        """The history allows it; the adapter merges them where its API wants that."""
        async with self._serving(self.spoken(Text("yes, both")).reply()) as (model, server):
            request = ModelRequest(model, (Message("user", "first-thing"), Message("user", "second-thing")))
            await complete(model, request)
        body = server.requests[0].body
        true(body.count(b"first-thing") == 1, "the first of two user messages must be sent once")
        true(body.count(b"second-thing") == 1, "the second of two user messages must be sent once")

    # --- tools ----------------------------------------------------------------------------------

    async def test_a_tool_call_and_its_result_make_the_round_trip(self) -> None:
        """The call arrives; the call and its result go back in the next request."""
        asked = ToolCall("call_1", "weather", '{"place": "Oslo"}')
        replies = self.spoken(asked).reply(), self.spoken(Text("It is 12 degrees.")).reply()
        async with self._serving(*replies) as (model, server):
            question = Message("user", "How is Oslo?")
            first = await complete(model, ModelRequest(model, (question,), tools=(WEATHER,)))
            result = Message("tool", [ToolResult("twelve-degrees", call_id="call_1", name="weather")])
            history = (question, first.message, result)
            second = await complete(model, ModelRequest(model, history, tools=(WEATHER,)))
        same(first.message.tool_calls, (asked,), "the tool calls")
        same(first.finish_reason, "tool_calls", "the finish reason of an answer with calls")
        same(second.message.text, "It is 12 degrees.", "the text after the result")
        true(b"weather" in server.requests[0].body, "the first request must offer the tool")
        for sent in (b"call_1", b"Oslo", b"twelve-degrees"):
            true(sent in server.requests[1].body, f"the second request must hold {sent!r}")

    async def test_tool_arguments_are_streamed(self) -> None:
        """The pieces of a call, joined, are its arguments; id and name come along."""
        asked = ToolCall("call_1", "weather", '{"place": "Reykjavík"}')
        async with self._serving(self.spoken(asked).reply()) as (model, _):
            events = await events_of(model, ask(model, "How is Iceland?"))
        pieces = [event for event in events if isinstance(event, ToolCallDelta)]
        same("".join(piece.args for piece in pieces), asked.args, "the streamed arguments, joined")
        true(any(piece.call_id == "call_1" for piece in pieces), "a delta must name the call's id")
        true(any(piece.name == "weather" for piece in pieces), "a delta must name the tool")

    async def test_parallel_calls_keep_their_order_ids_and_arguments(self) -> None:
        """Text before the calls does not swallow them."""
        asked = tuple(
            ToolCall(f"call_{at}", "weather", f'{{"place": "{place}"}}')
            for at, place in enumerate(("Oslo", "Rome", "Lima"))
        )
        async with self._serving(self.spoken(Text("I look at all three."), *asked).reply()) as (model, _):
            events = await events_of(model, ask(model, "Oslo, Rome, Lima?"))
        same(response_of(events).message.tool_calls, asked, "the tool calls")
        same(response_of(events).message.text, "I look at all three.", "the text before the calls")
        for at, call in enumerate(asked):
            pieces = [each.args for each in events if isinstance(each, ToolCallDelta) and each.index == at]
            same("".join(pieces), call.args, f"the streamed arguments of call {at}")

    async def test_malformed_tool_arguments_arrive_as_the_model_wrote_them(self) -> None:
        """The core turns them into an error result; the adapter neither repairs nor raises."""
        asked = ToolCall("call_1", "weather", '{"place": "Os')
        async with self._serving(self.spoken(asked).reply()) as (model, _):
            response = await complete(model, ask(model, "How is Oslo?"))
        same(response.message.tool_calls, (asked,), "the malformed call")

    async def test_a_call_with_repaired_arguments_can_be_sent_back(self) -> None:
        """A history in which the core has marked a call as malformed makes a request like any other."""
        history = (
            Message("user", "How is Oslo?"),
            Message("assistant", [ToolCall("call_1", "weather", "{}", invalid='{"place": "Os')]),
            Message("tool", [ToolResult("not-json", is_error=True, call_id="call_1", name="weather")]),
        )
        async with self._serving(self.spoken(Text("Once more, then.")).reply()) as (model, server):
            await complete(model, ModelRequest(model, history, tools=(WEATHER,)))
        for sent in (b"call_1", b"not-json"):
            true(sent in server.requests[0].body, f"the request must hold {sent!r}")

    # --- pictures -------------------------------------------------------------------------------

    async def test_an_image_is_sent_with_its_bytes_or_refused_by_name(self) -> None:
        """Never dropped in silence."""
        asked = Message("user", [Text("What is this?"), Image(_PIXEL)])
        async with self._serving(self.spoken(Text("one red pixel")).reply()) as (model, server):
            if not self.images:
                await fails(model, ModelRequest(model, (asked,)), UnsupportedError)
                return
            await complete(model, ModelRequest(model, (asked,)))
        body = server.requests[0].body
        true(base64.b64encode(_PIXEL) in body, "the request must hold the picture's bytes in base64")
        true(b"image/png" in body, "the request must name the picture's media type")

    # --- streams that go wrong ------------------------------------------------------------------

    async def test_an_error_event_in_mid_stream_is_a_retryable_error(self) -> None:
        """Neither a status of 200 makes it an answer, nor what the provider sends afterwards."""
        spoken = self.spoken(Text("one two three"))
        async with self._serving(Reply((*spoken.opening, self.broken(), *spoken.closing))) as (model, _):
            error = await fails(model, ask(model, "Count."), ModelError)
        true(error.retryable, f"an overloaded provider must be retryable, found {error!r}")

    async def test_a_stream_that_ends_too_early_is_retryable_wherever_it_is_cut(self) -> None:
        """The connection ends well, the answer does not."""
        opening = self.spoken(Text("one two three"), ToolCall("call_1", "weather", '{"place": "Oslo"}')).opening
        for cut in range(len(opening) + 1):
            async with self._serving(Reply(opening[:cut])) as (model, _):
                error = await fails(model, ask(model, "Count."), ProviderUnavailableError)
            true(error.retryable, f"a stream cut after {cut} events must be retryable, found {error!r}")

    async def test_a_connection_that_drops_is_retryable_wherever_it_drops(self) -> None:
        """Whatever the client library raises for it."""
        opening = self.spoken(Text("one two three"), ToolCall("call_1", "weather", '{"place": "Oslo"}')).opening
        for cut in range(len(opening) + 1):
            async with self._serving(Reply(opening[:cut], then="drop")) as (model, _):
                error = await fails(model, ask(model, "Count."), ProviderUnavailableError)
            true(error.retryable, f"a connection dropped after {cut} events must be retryable, found {error!r}")

    async def test_an_event_that_cannot_be_read_is_a_retryable_error(self) -> None:
        """Half an event, properly ended: not JSON."""
        opening = self.spoken(Text("one two three")).opening
        torn = opening[-1].rstrip()[:-9] + b"\n\n"
        async with self._serving(Reply((*opening[:-1], torn))) as (model, _):
            error = await fails(model, ask(model, "Count."), ModelError)
        true(error.retryable, f"an unreadable event must be retryable, found {error!r}")

    async def test_a_server_that_cannot_be_reached_is_retryable(self) -> None:
        """Nobody listens at that address."""
        async with never_accepting() as url:
            pass
        async with opened(self.model(url)) as model:
            error = await fails(model, ask(model, "Hello?"), ProviderUnavailableError)
        true(error.retryable, f"a server that is not there must be retryable, found {error!r}")

    # --- closing and cancelling -----------------------------------------------------------------

    async def test_closing_the_stream_early_closes_the_connection(self) -> None:
        """The provider stops generating, and being paid, at once."""
        opening = self.spoken(Text("one two three")).opening
        async with self._serving(Reply(opening, then="hold")) as (model, server):
            before = asyncio.all_tasks()
            async with aclosing(stream_of(model, ask(model, "Count."))) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            gc.collect()
            await asyncio.sleep(
                0
            )  # a generator that was left to the garbage collector is closed in a task from here on
            same(asyncio.all_tasks() - before - server.tasks, set(), "the tasks that are left")
            await within(self.patience, left(server), "the connection stayed open after the stream was closed")

    async def test_cancelling_an_unanswered_call_closes_it_and_leaves_no_task(self) -> None:
        """The request has arrived, the provider is silent."""
        async with self._serving(Reply(then="silence")) as (model, server):
            before = asyncio.all_tasks()
            call = asyncio.create_task(complete(model, ask(model, "Hello?")))
            await within(self.patience, server.received(), "the request never arrived")
            await cancel(call, self.patience)
            same(asyncio.all_tasks() - before - server.tasks, set(), "the tasks that are left")
            await within(self.patience, left(server), "the connection stayed open after the call was cancelled")

    async def test_cancelling_while_connecting_ends_at_once_and_leaves_no_task(self) -> None:
        """At whichever step of the event loop the cancellation comes."""
        async with never_accepting() as url, opened(self.model(url)) as model:
            before = asyncio.all_tasks()
            for steps in range(12):
                call = asyncio.create_task(complete(model, ask(model, "Hello?")))
                for _ in range(steps):
                    await asyncio.sleep(0)
                await cancel(call, self.patience)
                same(asyncio.all_tasks() - before, set(), f"the tasks left when cancelled at step {steps}")

    # --- refusals -------------------------------------------------------------------------------

    async def test_a_rate_limit_says_how_long_to_wait(self) -> None:
        """429 with `retry-after`."""
        error = await self._refused("rate_limit", RateLimitError)
        true(error.retryable, "a rate limit must be retryable")
        same(error.retry_after, RETRY_AFTER, "the seconds to wait")
        same(error.status, 429, "the status")

    async def test_a_refused_key_is_an_authentication_error(self) -> None:
        """Trying again does not help."""
        error = await self._refused("wrong_key", AuthenticationError)
        true(not error.retryable, "a refused key must not be retryable")

    async def test_a_request_that_is_too_long_is_a_context_overflow(self) -> None:
        """So that a middleware can shorten the history."""
        error = await self._refused("context_overflow", ContextOverflowError)
        true(not error.retryable, "a context overflow must not be retryable")

    async def test_an_unknown_model_is_a_bad_request(self) -> None:
        """Trying again does not help."""
        error = await self._refused("unknown_model", BadRequestError)
        true(not error.retryable, "an unknown model must not be retryable")

    # --- how the cases run ----------------------------------------------------------------------

    async def _refused(self, why: Refusal, kind: type[ModelError]) -> ModelError:
        async with self._serving(self.refusal(why)) as (model, server):
            error = await fails(model, ask(model, "Hello?"), kind)
        same(len(server.requests), 1, "the requests sent (retrying is a middleware's job)")
        return error

    @asynccontextmanager
    async def _serving(self, *replies: Reply) -> AsyncGenerator[tuple[Model, StandIn]]:
        try:
            async with (
                asyncio.timeout(self.patience),
                stand_in(*replies) as server,
                opened(self.model(server.url)) as model,
            ):
                yield model, server
        except TimeoutError as error:
            raise AssertionError(f"the model hangs: the case took more than {self.patience} seconds") from error
