"""Tools: a typed function, its JSON schema, and what its result becomes."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import inspect
import json
import threading
import typing
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_args, get_origin, overload

from pydantic import ConfigDict, Field, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic_core import PydanticSerializationError, to_jsonable_python

from .contexts import AgentContext, ToolContext
from .docstrings import parse
from .errors import HookError, UseError
from .events import End, holds_nul
from .messages import Audio, File, Image, Json, Opaque, Resource, Text, ToolDef, ToolResult

_PARTS = (Text, Json, Image, Audio, File, Resource, Opaque)
_PLAIN = (str, int, float, bool, type(None), dict, list)


class CancelToken:
    """Tells a synchronous tool, in its thread, that nobody waits for it any more."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the tool to stop."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the tool should stop."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep up to *seconds*; return at once, and True, when cancelled."""
        return self._event.wait(seconds)


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

    def parse_args(self, text: str) -> tuple[dict[str, Any], str]:
        """Validate JSON text: the arguments as JSON values with defaults written out, and the same as text.

        Raises:
            ValueError: They do not match the schema; one line per field.
        """
        signature = self._signature
        try:
            values = signature.from_text(text)
        except ValidationError as error:
            raise ValueError(_explain(self.name, error)) from None
        return values, signature.as_text(values, text)

    def check_args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Validate arguments that a middleware gives.

        Raises:
            HookError: They do not match the schema.
        """
        try:
            text = json.dumps(dict(args), allow_nan=False)
            return self._signature.from_text(text)
        except (ValidationError, ValueError, TypeError) as error:
            why = _explain(self.name, error) if isinstance(error, ValidationError) else str(error)
            raise HookError(f"modify_args: {why}") from None

    async def run(self, ctx: ToolContext, text: str, progress: Callable[[Any], Any]) -> ToolResult:
        """Run the body on validated JSON text; what it raises comes out as it is.

        Args:
            ctx: Handed in where the function asks for it.
            text: The arguments.
            progress: Awaited with each item a generator yields before its `End`.
        """
        signature = self._signature
        values = signature.to_call(text)
        if signature.context:
            values[signature.context] = ctx
        limit = self.flags.timeout
        if limit is None:
            return to_result(self.name, await self._body(values, progress))
        try:
            async with asyncio.timeout(limit) as clock:
                return to_result(self.name, await self._body(values, progress))
        except TimeoutError:
            if clock.expired():
                raise TimeoutError(f"{self.name} took longer than {limit:g} seconds") from None
            raise

    async def _body(self, values: dict[str, Any], progress: Callable[[Any], Any]) -> Any:
        kind = self._signature.kind
        if kind == "async":
            return await self._fn(**values)
        if kind == "stream":
            return await _last(self.name, self._fn(**values), progress)
        return await in_thread(self._fn, values, self._signature.token)


async def _last(name: str, items: AsyncIterator[Any], progress: Callable[[Any], Any]) -> Any:
    end: Any = None
    try:
        async for item in items:
            if type(item) is End:
                end = item
                break
            await progress(item)
    finally:
        await cast(Any, items).aclose()
    if end is None:
        raise TypeError(f"{name} yields progress but no End: finish it with `yield End(result)`")
    return end.result


async def in_thread(fn: Callable[..., Any], values: dict[str, Any], token_name: str | None) -> Any:
    """Run a synchronous function in a daemon thread of its own.

    Waiting for it can be cancelled at once; the thread is told through its token, and does not keep the program alive.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    token = CancelToken()
    if token_name is not None:
        values[token_name] = token
    context = contextvars.copy_context()

    def tell(result: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(fn, **values)
        except BaseException as error:
            failure = RuntimeError(f"it raised {error!r}") if isinstance(error, StopIteration) else error
        try:
            loop.call_soon_threadsafe(tell, result, failure)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name=f"tool {getattr(fn, '__name__', '')}", daemon=True).start()
    try:
        return await future
    finally:
        token.cancel()


def to_result(name: str, value: Any) -> ToolResult:
    """Turn what a tool returned into a `ToolResult`.

    Raises:
        TypeError: JSON cannot hold it.
    """
    if type(value) is str:
        return ToolResult((Text(_storable(name, value)),))
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, _PARTS):
        return ToolResult((value,))
    if isinstance(value, list | tuple) and value and all(isinstance(part, _PARTS) for part in cast(list[Any], value)):
        return ToolResult(tuple(cast(list[Any], value)))
    try:
        plain = to_jsonable_python(value)
        _storable(name, json.dumps(plain, allow_nan=False, ensure_ascii=False))
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise TypeError(f"{name} returned a {type(value).__name__} that JSON cannot hold: {error}") from None
    return ToolResult((Json(plain),))


def _storable(name: str, text: str) -> str:
    if "\x00" in text or holds_nul(text):
        raise TypeError(f"{name} returned text with a NUL character: remove it, stores do not agree on it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"{name} returned text that is not Unicode: {error}") from None
    return text


def _explain(name: str, error: ValidationError) -> str:
    lines: list[str] = []
    for each in error.errors(include_url=False):
        where = ".".join(str(step) for step in each["loc"]) or "arguments"
        lines.append(f"{where}: {each['msg']}")
    return f"arguments of {name!r} do not fit: " + "; ".join(lines)


# --- from a function to a schema ----------------------------------------------------------------


class Signature:
    """What is known of a tool's function: compiled once, shared by all instances it is bound to."""

    __slots__ = ("_adapter", "_plain", "_validate", "context", "kind", "schema", "token")

    def __init__(self, name: str, fn: Callable[..., Any], described: Mapping[str, str], skip_self: bool) -> None:
        hints = _hints(name, fn)
        self.context = self.token = None
        fields: list[tuple[str, Any, Any]] = []
        parameters = list(inspect.signature(fn).parameters.values())[1 if skip_self else 0 :]
        for parameter in parameters:
            hint = hints.get(parameter.name, Any)
            if isinstance(hint, type) and issubclass(hint, AgentContext):
                self.context = parameter.name
            elif hint is CancelToken:
                self.token = parameter.name
            else:
                fields.append(_field(name, parameter, hint, described.get(parameter.name)))
        self.kind = _kind(fn)
        holder = dataclasses.make_dataclass(name, fields, kw_only=True)
        cast(Any, holder).__pydantic_config__ = ConfigDict(extra="forbid")
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(holder)
            self.schema = _tidy(self._adapter.json_schema())
        except (
            PydanticSchemaGenerationError,
            PydanticInvalidForJsonSchema,
            PydanticUserError,
            PydanticUndefinedAnnotation,
        ) as error:
            raise UseError(f"tool {name!r}: {_blame(name, hints, fields, error)}") from None
        self._validate = self._adapter.validator.validate_json
        self._plain = all(_is_plain(hint) for _, hint, _ in fields)

    def from_text(self, text: str) -> dict[str, Any]:
        """The arguments as JSON values, defaults written out."""
        held = self._validate(text)
        if self._plain:
            return cast(dict[str, Any], dict(held.__dict__))
        return cast(dict[str, Any], self._adapter.dump_python(held, mode="json"))

    def as_text(self, values: dict[str, Any], given: str) -> str:
        """The validated arguments as JSON text."""
        return json.dumps(values, ensure_ascii=False)

    def to_call(self, text: str) -> dict[str, Any]:
        """The arguments as the function wants them."""
        return dict(self._validate(text).__dict__)


def _hints(name: str, fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise UseError(f"tool {name!r}: an annotation cannot be resolved: {error}; import it at module level") from None


def _field(name: str, parameter: inspect.Parameter, hint: Any, description: str | None) -> tuple[str, Any, Any]:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise UseError(
            f"tool {name!r}: parameter {parameter} cannot be described to a model: give each argument a name of its own"
        )
    if description:
        hint = Annotated[hint, Field(description=description)]
    if parameter.default is parameter.empty:
        return parameter.name, hint, dataclasses.field()
    if isinstance(parameter.default, list | dict | set):
        default = cast(Any, parameter.default)
        return parameter.name, hint, dataclasses.field(default_factory=lambda: default.copy())
    return parameter.name, hint, dataclasses.field(default=parameter.default)


def _kind(fn: Callable[..., Any]) -> str:
    if inspect.isasyncgenfunction(fn):
        return "stream"
    if inspect.iscoroutinefunction(fn):
        return "async"
    return "sync"


def _is_plain(hint: Any) -> bool:
    """Whether validated values of *hint* are JSON values already."""
    if hint in _PLAIN:
        return True
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_plain(get_args(hint)[0])
    if origin is typing.Literal:
        return all(type(value) in _PLAIN for value in get_args(hint))
    if origin in (list, dict, typing.Union) or str(origin) == "<class 'types.UnionType'>":
        return all(_is_plain(each) for each in get_args(hint))
    return False


def _tidy(schema: Any) -> Any:
    """Drop the titles that are only field names again: tokens that tell a model nothing."""
    if isinstance(schema, dict):
        items = cast(dict[str, Any], schema).items()
        return {k: _tidy_map(v) if k in ("properties", "$defs") else _tidy(v) for k, v in items if k != "title"}
    if isinstance(schema, list):
        return [_tidy(each) for each in cast(list[Any], schema)]
    return schema


def _tidy_map(named: dict[str, Any]) -> dict[str, Any]:
    return {name: _tidy(schema) for name, schema in named.items()}


def _blame(name: str, hints: Mapping[str, Any], fields: Iterable[tuple[str, Any, Any]], error: Exception) -> str:
    for parameter, hint, _ in fields:
        try:
            TypeAdapter(hint).json_schema()
        except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError):
            shown = getattr(hints.get(parameter), "__name__", hints.get(parameter))
            return (
                f"parameter {parameter!r} is annotated {shown}, which has no JSON schema: "
                "take a str, a number, a list, a dict or a pydantic model"
            )
    return str(error).splitlines()[0]


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
        given = name or getattr(fn, "__name__", type(fn).__name__)
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
