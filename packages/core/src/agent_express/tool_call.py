"""One tool call: what is checked before it, its onion, and the body in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from .contexts import ToolContext, TurnRecord
from .errors import Signal, ToolError, WrongResultError, repeated
from .events import Failed, How, ToolCalled, ToolProgressed, ToolRan, ToolReturned, ToolStarted
from .layers import is_cancelled, note_cancelled
from .messages import ToolCall, ToolResult
from .results import to_result
from .stream import Channel, sink, tell
from .texts import clean
from .tools import Tool

SHOWN = 500
"""Characters of a model's unreadable arguments that are shown to it again."""


async def run_call(
    turn: TurnRecord, call: ToolCall, index: int, step: int, refused: str | None, out: Channel | None
) -> None:
    """Take one call through the tool onion and log its result."""
    session = turn.session
    log = session.log
    key = f"{turn.index}.{step}.{index}"
    tool: Tool | None = session.tools.get(call.name)  # type: ignore[assignment]
    args, how, early = _prepare(turn, tool, call, refused)
    called = ToolCalled(key, call.id, call.name, args)
    log.append(called)
    if out is not None:
        await out.send(called)
    ctx = ToolContext(turn, call, tool, index, key, early, args)
    try:
        result = await turn.chains.for_tool(tool)(ctx)
    except ToolError as error:
        cut_off = turn.outcomes.get(key, error) is None
        result, how = ToolResult(clean(str(error)), is_error=True), "unknown" if cut_off else "failed"
    returned = _returned(ctx, key, result, how, early)
    log.append(returned)
    if out is not None:
        await out.send(returned)


def _prepare(
    turn: TurnRecord, tool: Tool | None, call: ToolCall, refused: str | None
) -> tuple[dict[str, Any], How, ToolResult | None]:
    """The validated arguments, and the result that stands already, where one does."""
    how, why = _refusal(turn, tool, call, refused)
    if why is None and tool is not None:
        try:
            return tool.parse_args(call.args), "ran", None
        except ValueError as error:
            how, why = "invalid", str(error)
    return call.parsed(), how, ToolResult(why or "", is_error=True)


def _refusal(turn: TurnRecord, tool: Tool | None, call: ToolCall, refused: str | None) -> tuple[How, str | None]:
    if refused is not None:
        return "refused", refused
    if tool is None:
        have = ", ".join(turn.session.tools) or "none"
        return "no_tool", f"there is no tool {call.name!r}; there are: {have}"
    if not _was_offered(turn, tool):
        return "refused", f"tool {call.name!r} may not be used now"
    if call.invalid is not None:
        shown = call.invalid if len(call.invalid) <= SHOWN else f"{call.invalid[:SHOWN]}…"
        return "invalid", f"the arguments of {call.name!r} are not a JSON object; you wrote: {shown}"
    missing = tool.flags.scopes - turn.session.scopes
    if missing:
        return "refused", f"tool {call.name!r} needs {', '.join(sorted(missing))}, which this session does not hold"
    return "ran", None


def _was_offered(turn: TurnRecord, tool: Tool) -> bool:
    """Whether the request of this step offered the tool: what a hook hid is refused too."""
    return tool.name in [each.name for each in turn.offered]


def _returned(ctx: ToolContext, key: str, result: ToolResult, how: How, early: ToolResult | None) -> ToolReturned:
    by: str | None = None
    if ctx._denied_by is not None:
        by, how = ctx._denied_by, "denied"
        if not result.is_error:
            result = cast(ToolResult, ctx._stopped)  # a hook may change the words of a refusal, not that it is one
    elif not ctx._ran:
        if ctx._skipped_by is not None:
            how, by = "skipped", ctx._skipped_by
        elif ctx._answered_by is not None:
            how, by = "answered", ctx._answered_by
        elif ctx._refused:
            how = "refused"
    elif how not in ("failed", "unknown"):
        how = "failed" if ctx._outcome_failed and result.is_error else "ran"
    call = ctx.call
    try:
        result = to_result(call.name, result)
    except TypeError as error:
        raise WrongResultError(f"a hook around tool {error}") from None
    stamped = ToolResult(result.parts, result.is_error, call.id, call.name)
    return ToolReturned(key, call.id, call.name, stamped, how, by)


async def tool_core(ctx: ToolContext) -> ToolResult:
    """The middle of the tool onion: give the result that stands, or run the body."""
    turn = ctx._turn
    if turn.signal is not None:
        raise repeated(turn.signal)
    changed, early = ctx._base
    if early is not None:
        stands: ToolResult = early
        return stands
    tool: Tool = ctx._tool  # type: ignore[assignment]
    if ctx._key in turn.outcomes and not tool.flags.idempotent:
        return _again(ctx, turn.outcomes[ctx._key])
    if tool.flags.external or tool.flags.requires_approval:
        refusal = _needs_somebody(tool, ctx)
        if refusal is not None:
            ctx._refused = True
            return refusal
    ctx._started = True
    if not tool.flags.read_only or changed is not None:
        shown = None if changed is None else ctx._copy(changed)
        tell(ctx._session.log, ToolStarted(ctx._key, ctx.call.id, tool.name, shown))
    if not tool.flags.read_only:
        turn.outcomes[ctx._key] = None
    return await _run_body(ctx, tool, ctx._called if changed is None else changed)


async def _run_body(ctx: ToolContext, tool: Tool, args: Mapping[str, Any]) -> ToolResult:
    turn = ctx._turn
    turn.usage.count_tool_call()
    task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]
    if is_cancelled(turn, task):
        raise asyncio.CancelledError  # a hook swallowed it
    cancels = task.cancelling()
    turn.busy.add(task)
    try:
        outcome: ToolResult | ToolError = await tool.run(ctx, args, _progress)
    except asyncio.CancelledError as error:
        if task.cancelling() > cancels:
            note_cancelled(turn)
            if tool.kind == "sync":
                tell(ctx._session.log, Failed(f"tool {tool.name}", "cancelled; its thread may still be running"))
            raise
        outcome = _failed(tool, error)
    except Signal as signal:
        signal.by = signal.by or f"tool {tool.name}"
        raise
    except (Exception, SystemExit) as error:
        outcome = _failed(tool, error)
    finally:
        turn.busy.discard(task)
    if turn.status != "running" and turn.signal is not None:
        raise repeated(turn.signal)  # left behind by a hook: the turn is over, and so is its log
    ctx._ran = True
    turn.outcomes[ctx._key] = outcome
    if isinstance(outcome, ToolError):
        turn.usage.count_failure()
        ctx._outcome_failed = True
        tell(ctx._session.log, ToolRan(ctx._key, ctx.call.id, ToolResult(clean(str(outcome)), is_error=True)))
        raise outcome
    tell(ctx._session.log, ToolRan(ctx._key, ctx.call.id, outcome))
    return outcome


def _failed(tool: Tool, error: BaseException) -> ToolError:
    failure = ToolError(tool.name, error)
    failure.__cause__ = error
    return failure


def _again(ctx: ToolContext, recorded: ToolResult | ToolError | None) -> ToolResult:
    """The recorded outcome of a body that ran: a repeat wraps the hooks around it.

    A body that was cut off, by a hook's time-out say, does not start again: whether it took effect is unknown.
    """
    ctx._started = ctx._ran = True
    if recorded is None:
        raise ToolError(ctx.call.name, RuntimeError("it was cut off while it ran: whether it took effect is unknown"))
    if isinstance(recorded, ToolError):
        ctx._outcome_failed = True
        raise recorded.with_traceback(None)
    return recorded


def _needs_somebody(tool: Tool, ctx: ToolContext) -> ToolResult | None:
    """The refusal of a tool that waits for a person or another program, which nothing here can ask."""
    if tool.flags.external:
        return ToolResult(
            f"tool {tool.name!r} is executed elsewhere, and this version cannot wait for it", is_error=True
        )
    needed = tool.flags.requires_approval
    if callable(needed):
        try:
            needed = bool(needed(ctx.args))
        except Exception as error:
            return ToolResult(f"tool {tool.name!r}: whether it needs approval cannot be told: {error!r}", is_error=True)
    if not needed:
        return None
    return ToolResult(
        f"tool {tool.name!r} needs approval, and this version has nobody to ask: it was not run", is_error=True
    )


async def _progress(ctx: ToolContext, item: Any) -> None:
    out = sink.get()
    if out is not None:
        await out.send(ToolProgressed(ctx.call.id, ctx.call.name, item))


def answer_open_calls(turn: TurnRecord, step: int, why: str) -> None:
    """Give each open call a result, so that the history stays valid; awaits nothing."""
    log = turn.session.log
    if not log.batch:
        return
    waiting = {call.id for call in log.open_calls}
    for index, call in enumerate(log.batch):
        if call.id not in waiting:
            continue
        key = f"{turn.index}.{step}.{index}"
        how, text = _fate(turn.outcomes, key, why)
        log.append(
            ToolReturned(key, call.id, call.name, ToolResult(text, is_error=True, call_id=call.id, name=call.name), how)
        )


def _fate(outcomes: dict[str, Any], key: str, why: str) -> tuple[How, str]:
    if key not in outcomes:
        return "not_run", f"not run: {why}"
    if outcomes[key] is None:
        return "unknown", f"it had started, then {why}: whether it took effect is unknown"
    return "withheld", f"it ran; its result was withheld: {why}"
