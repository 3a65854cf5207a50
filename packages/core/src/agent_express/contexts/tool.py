"""The context of `tool` hooks, and of tools that ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from types import MappingProxyType
from typing import Any, cast

from pydantic_core import from_json, to_json

from ..errors import TooLateError
from ..events import Event
from ..messages import ToolCall, ToolResult
from ..stream import Channel, sink
from ..texts import clean
from .caller import caller
from .records import AnyTool, TurnRecord
from .session import NOTHING
from .turn import TurnContext


class ToolContext(TurnContext):
    """What `tool` hooks get, and tools that ask for it."""

    __slots__ = (
        "_answered_by",
        "_call",
        "_called",
        "_denied_by",
        "_index",
        "_key",
        "_outcome_failed",
        "_ran",
        "_refused",
        "_shown",
        "_skipped_by",
        "_started",
        "_stopped",
        "_tool",
    )

    def __init__(
        self,
        turn: TurnRecord,
        call: ToolCall,
        tool: AnyTool | None,
        index: int,
        key: str,
        early: ToolResult | None,
        args: Mapping[str, Any],
    ) -> None:
        session = turn.session
        self._runtime = session.runtime
        self._session = session
        self._turn = turn
        self._base = (None, early)
        self._index, self._key, self._called = index, key, args
        self._call, self._tool = call, tool
        self._stopped: ToolResult | None = None
        self._denied_by: str | None = None
        self._skipped_by: str | None = None
        self._answered_by: str | None = None
        self._started = self._ran = self._outcome_failed = self._refused = False
        self._shown: Mapping[str, Any] | None = None

    @property
    def _core_name(self) -> str:  # type: ignore[override]
        return f"tool {self._call.name}"

    @property
    def call(self) -> ToolCall:
        """The call as it is recorded."""
        return self._call

    @property
    def tool(self) -> AnyTool | None:
        """The tool that is called; None where there is none of that name."""
        return self._tool

    @property
    def call_id(self) -> str:
        """The provider's id of the call."""
        return self._call.id

    @property
    def call_index(self) -> int:
        """Its place in the batch, from 0."""
        return self._index

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments as JSON values, validated, defaults written out; read-only."""
        changed = self._base[0]
        if changed is not None:
            return MappingProxyType(self._copy(changed))
        if self._shown is None:
            self._shown = MappingProxyType(self._copy(self._called))
        return self._shown

    def _copy(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a hook may look at: a copy, where something in it could be changed in place."""
        tool = cast(Any, self._tool)
        return args if tool is not None and tool.is_flat else from_json(to_json(args))

    def modify_args(self, new: Mapping[str, Any]) -> None:
        """Replace the arguments for what is further in.

        Raises:
            HookError: They do not match the tool's schema.
        """
        checked = cast(Any, self.tool).check_args(new) if self.tool is not None else dict(new)
        self._base = (checked, self._base[1])

    def deny(self, reason: str) -> ToolResult:
        """Refuse this call for good: `return ctx.deny("not on Sundays")`. Nothing can run it any more.

        Raises:
            TooLateError: The tool has started.
        """
        by = caller(self) or "core"
        self._not_started("deny", by)
        result = ToolResult(clean(reason), is_error=True)
        if self._stopped is None:
            self._stopped, self._denied_by = result, by
        return self._stopped

    def skip_call(self, result: ToolResult | str) -> ToolResult:
        """Answer in place of the tool: `return ctx.skip_call("cached")`. Undone when this hook's `next()` ends.

        Raises:
            TooLateError: The tool has started.
        """
        by = caller(self) or "core"
        self._not_started("skip_call", by)
        made = ToolResult(result) if isinstance(result, str) else result
        self._base = (self._base[0], made)
        self._skipped_by = by
        return made

    def _post(self, event: Event) -> Awaitable[None]:
        if self._on_loop():
            return super()._post(event)
        # A synchronous tool cannot await: the loop takes the event over.
        self._refuse_undeclared(event)
        task, out = self._turn.task, sink.get()
        if task is not None:
            task.get_loop().call_soon_threadsafe(self._emit_from_thread, event, out)
        return NOTHING

    @staticmethod
    def _on_loop() -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def _emit_from_thread(self, event: Event, out: Channel | None) -> None:
        _ = self._log_only(event)
        if out is not None and self._turn.signal is None:
            out.put(event)

    def _not_started(self, what: str, by: str) -> None:
        if self._started:
            raise TooLateError(
                f"{by}: {what}() after tool {self._call.name!r} had started; return another result instead"
            )

    def _answered(self, by: str) -> None:
        self._answered_by = by
