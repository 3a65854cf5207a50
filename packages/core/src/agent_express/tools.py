"""Tools: a typed function, its JSON schema, and what its result becomes."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, overload

from pydantic import ValidationError
from pydantic_core import to_json

from .contexts import ToolContext
from .docstrings import parse
from .errors import HookError, UseError
from .events import End
from .messages import ToolDef, ToolResult
from .results import to_result
from .signature import Signature, explain
from .threads import CancelToken as CancelToken
from .threads import in_thread

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Progress: TypeAlias = Callable[[ToolContext, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolFlags:
    """How a tool may be run.

    Attributes:
        timeout: Seconds its body may take; None for no limit.
        requires_approval: Whether somebody must say yes first, or a predicate on the validated arguments.
        concurrent: Whether it may run beside other calls of its batch.
        read_only: It changes nothing; implies idempotent.
        idempotent: Running it twice does what running it once does.
        external: Somebody else executes it.
        scopes: What the session must hold.
        touches_state: Whether it works on the session's state; true for a tool that takes a `ToolContext`.
    """

    timeout: float | None = None
    requires_approval: bool | Callable[[Mapping[str, Any]], bool] = False
    concurrent: bool = True
    read_only: bool = False
    idempotent: bool = False
    external: bool = False
    scopes: frozenset[str] = frozenset()
    touches_state: bool = False


class Tool:
    """A typed function that a model may call. Made by `@tool`; awaiting a call of it runs the function.

    Attributes:
        name: What the model calls it.
        description: What the model is told of it.
        definition: Name, description and JSON schema as a `ToolDef`.
        flags: How it may be run.
        use: Middleware around this one tool, inside the agent's.
    """

    __slots__ = ("_fn", "_signature", "definition", "flags", "name", "owner", "use")

    def __init__(
        self, fn: Callable[..., Any], signature: Signature, definition: ToolDef, flags: ToolFlags, use: tuple[Any, ...]
    ) -> None:
        self._fn, self._signature = fn, signature
        self.definition, self.flags, self.use = definition, flags, use
        self.name = definition.name
        self.owner: object = None

    @property
    def description(self) -> str:
        """What the model is told of it."""
        return self.definition.description

    @property
    def kind(self) -> str:
        """ "async", "stream" (yields progress) or "sync" (runs in a thread)."""
        return self._signature.kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        if instance is None:
            return self
        bound = Tool(self._fn.__get__(instance, owner), self._signature, self.definition, self.flags, self.use)
        bound.owner = instance
        return bound

    def with_use(self, use: tuple[Any, ...]) -> Tool:
        """A copy with other middleware around it."""
        made = Tool(self._fn, self._signature, self.definition, self.flags, use)
        made.owner = self.owner
        return made

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @property
    def is_flat(self) -> bool:
        """Whether all its arguments are strings, numbers and the like, so that they can be shared as they are."""
        return self._signature.flat

    def parse_args(self, text: str) -> dict[str, Any]:
        """Validate JSON text: the arguments as JSON values with defaults written out.

        Raises:
            ValueError: They do not match the schema; one line per field.
        """
        try:
            return self._signature.from_text(text)
        except ValidationError as error:
            raise ValueError(explain(self.name, error)) from None

    def check_args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Validate arguments that a middleware gives.

        Raises:
            HookError: They do not match the schema.
        """
        try:
            text = json.dumps(dict(args), allow_nan=False)
            return self._signature.from_text(text)
        except (ValidationError, ValueError, TypeError) as error:
            why = explain(self.name, error) if isinstance(error, ValidationError) else str(error)
            raise HookError(f"modify_args: {why}") from None

    async def run(self, ctx: ToolContext, args: Mapping[str, Any], progress: Progress) -> ToolResult:
        """Run the body on validated arguments; what it raises comes out as it is.

        Args:
            ctx: Handed in where the function asks for it.
            args: The arguments as JSON values; the body gets them parsed anew.
            progress: Awaited with the context and each item that a generator yields before its `End`.
        """
        signature = self._signature
        values = dict(args) if signature.flat else signature.to_call(to_json(args))
        if signature.context:
            values[signature.context] = ctx
        limit = self.flags.timeout
        if limit is None:
            return to_result(self.name, await self._body(ctx, values, progress))
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                return to_result(self.name, await self._body(ctx, values, progress))
        except TimeoutError:
            if clock.expired():
                raise TimeoutError(f"{self.name} took longer than {limit:g} seconds") from None
            raise

    async def _body(self, ctx: ToolContext, values: dict[str, Any], progress: Progress) -> Any:
        kind = self._signature.kind
        if kind == "async":
            return await self._fn(**values)
        if kind == "stream":
            return await _last(ctx, self._fn(**values), progress)
        return await in_thread(self._fn, values, self._signature.token)


async def _last(ctx: ToolContext, items: AsyncIterator[Any], progress: Progress) -> Any:
    try:
        async for item in items:
            if type(item) is End:
                end: End[Any] = item
                return end.result
            await progress(ctx, item)
    finally:
        await cast(Any, items).aclose()
    raise TypeError(f"{ctx.call.name} yields progress but no End: finish it with `yield End(result)`")


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    requires_approval: bool | Callable[[Mapping[str, Any]], bool] = False,
    concurrent: bool = True,
    read_only: bool = False,
    idempotent: bool = False,
    external: bool = False,
    scopes: Iterable[str] = (),
    touches_state: bool | None = None,
    use: Iterable[Any] = (),
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    requires_approval: bool | Callable[[Mapping[str, Any]], bool] = False,
    concurrent: bool = True,
    read_only: bool = False,
    idempotent: bool = False,
    external: bool = False,
    scopes: Iterable[str] = (),
    touches_state: bool | None = None,
    use: Iterable[Any] = (),
) -> Any:
    """Turn a typed function or method into a tool.

    The JSON schema comes from the signature, the description from the docstring, those of the parameters from its
    `Args:`. A parameter annotated `ToolContext` is handed in, one annotated `CancelToken` too. A synchronous function
    runs in a thread.

    Args:
        fn: The function; a method is bound to its middleware.
        name: What the model calls it; the function's name where it is left out.
        description: What the model is told; the docstring without its sections where it is left out.
        timeout: Seconds the body may take.
        requires_approval: Whether somebody must say yes first, or a predicate on the validated arguments.
        concurrent: Whether it may run beside other calls of its batch.
        read_only: It changes nothing; implies *idempotent*.
        idempotent: Running it twice does what running it once does.
        external: Somebody else executes it.
        scopes: What the session must hold.
        touches_state: Whether it works on the session's state; true for a tool that takes a `ToolContext`.
        use: Middleware with `tool` hooks around this one tool, inside the agent's.

    Raises:
        UseError: A parameter has no JSON schema, or no name; a time limit is not above 0.
    """

    def make(fn: Callable[..., Any]) -> Tool:
        given = name if name is not None else str(getattr(fn, "__name__", type(fn).__name__))
        if not _NAME.fullmatch(given):
            raise UseError(f"tool {given!r}: a name is 1 to 64 letters, digits, _ or -; set @tool(name=...)")
        if timeout is not None and not timeout > 0:
            raise UseError(f"tool {given!r}: timeout must be more than 0 seconds, got {timeout}")
        text, described = parse(inspect.getdoc(fn) or "")
        signature = Signature(given, fn, described, _is_method(fn))
        definition = ToolDef(given, text if description is None else description, signature.schema)
        touches = signature.context is not None if touches_state is None else touches_state
        flags = ToolFlags(
            timeout,
            requires_approval,
            concurrent,
            read_only,
            idempotent or read_only,
            external,
            frozenset(scopes),
            touches,
        )
        return Tool(fn, signature, definition, flags, tuple(use))

    return make if fn is None else make(fn)


def _is_method(fn: Callable[..., Any]) -> bool:
    """Whether *fn* is written in a class body: its first parameter is `self`."""
    first = next(iter(inspect.signature(fn).parameters), None)
    return first == "self" and not inspect.ismethod(fn)
