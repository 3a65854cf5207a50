"""What a middleware is, what `use()` checks, and the rules of order.

Everything is read once: an `Entry` holds what was found on an object, and nothing looks at the object again.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from .contexts import AgentContext, ModelContext, SessionContext, ToolContext, TurnContext
from .errors import UseError
from .events import End, Event
from .messages import ModelResponse, ToolResult
from .onion import Next
from .order import NO_RULES, Order
from .state import compile_slice
from .tools import Tool

HOOKS = ("init", "dispose", "session", "turn", "model", "tool")
LEVELS = ("session", "turn", "model", "tool")
RESERVED = ("name", "tools", "state", "events", "order", "store")
_PARAMETERS = {"init": ("ctx",), "dispose": (), "session": ("ctx", "next"), "turn": ("ctx", "next")} | {
    "model": ("ctx", "next"),
    "tool": ("ctx", "next"),
}
_LEVEL_OF = {"SessionContext": "session", "TurnContext": "turn", "ModelContext": "model", "ToolContext": "tool"}


class Middleware:
    """A base class without behaviour: it tells editors and type checkers what the hooks look like.

    Override any of them as `async def`: a hook that returns sees the result, one that yields sees the stream. An object
    with a hook, `tools`, `state`, `events` or `store` is a middleware without this class too.
    """

    def init(self, ctx: AgentContext) -> Awaitable[None]:
        """Get ready, once, when the agent opens."""
        raise NotImplementedError

    def dispose(self) -> Awaitable[None]:
        """Give back what `init` took, once, when the agent closes."""
        raise NotImplementedError

    def session(self, ctx: SessionContext, next: Next[None]) -> Awaitable[None]:
        """Wrap the time a conversation is open in this process."""
        raise NotImplementedError

    def turn(self, ctx: TurnContext, next: Next[None]) -> Awaitable[None] | AsyncIterator[Event | End[Any]]:
        """Wrap one user message and its answer, `ctx.output`."""
        raise NotImplementedError

    def model(
        self, ctx: ModelContext, next: Next[ModelResponse]
    ) -> Awaitable[ModelResponse] | AsyncIterator[Event | End[ModelResponse]]:
        """Wrap one model call."""
        raise NotImplementedError

    def tool(
        self, ctx: ToolContext, next: Next[ToolResult]
    ) -> Awaitable[ToolResult] | AsyncIterator[Event | End[ToolResult]]:
        """Wrap one tool call."""
        raise NotImplementedError


T = TypeVar("T")


@dataclass(frozen=True)
class Named(Generic[T]):
    """One use of a middleware, or of a tool, under another name."""

    name: str
    thing: T


def named(name: str, thing: T) -> Named[T]:
    """Give one use of *thing* the name *name*; the object itself stays as it is."""
    return Named(name, thing)


class _SessionHook(Protocol):
    def session(self, ctx: Any, next: Any) -> Any: ...


class _TurnHook(Protocol):
    def turn(self, ctx: Any, next: Any) -> Any: ...


class _ModelHook(Protocol):
    def model(self, ctx: Any, next: Any) -> Any: ...


class _ToolHook(Protocol):
    def tool(self, ctx: Any, next: Any) -> Any: ...


class _InitHook(Protocol):
    def init(self, ctx: Any) -> Any: ...


class _DisposeHook(Protocol):
    def dispose(self) -> Any: ...


class _HasTools(Protocol):
    @property
    def tools(self) -> Sequence[Tool]: ...


class _HasState(Protocol):
    @property
    def state(self) -> type[BaseModel]: ...


class _HasEvents(Protocol):
    @property
    def events(self) -> Sequence[type[Event]]: ...


Usable: TypeAlias = (
    Middleware
    | Tool
    | Callable[[Any, Any], Awaitable[Any] | AsyncIterator[Any]]
    | _SessionHook
    | _TurnHook
    | _ModelHook
    | _ToolHook
    | _InitHook
    | _DisposeHook
    | _HasTools
    | _HasState
    | _HasEvents
    | Named[Any]
    | Sequence["Usable"]
)
"""What `use()` takes: middleware, functions, tools, and lists of these."""


@dataclass(slots=True)
class Entry:
    """What was found on one middleware."""

    name: str
    thing: object
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    tools: tuple[Tool, ...] = ()
    state: type[BaseModel] | None = None
    events: tuple[type[Event], ...] = ()
    order: Order = NO_RULES

    @property
    def owner(self) -> tuple[str, object, type[BaseModel]] | None:
        """Name, object and model of its state, where it has one."""
        return None if self.state is None else (self.name, self.thing, self.state)

    @property
    def area(self) -> str:
        """The area of its package: "guards" of agent_express_guards."""
        module = type(self.thing).__module__ if not inspect.isfunction(self.thing) else self.thing.__module__
        return module.partition(".")[0].removeprefix("agent_express_")

    def matches(self, rule: str) -> bool:
        """Whether an order rule speaks of it."""
        return rule in (self.name, self.area, f"{self.area}.{self.name}")


def owners(entries: Iterable[Entry]) -> list[tuple[str, object, type[BaseModel]]]:
    """Name, object and state model of those that have state."""
    return [entry.owner for entry in entries if entry.owner is not None]


def read(
    things: Iterable[Any], known: Iterable[Entry] = (), *, where: str = "use()", hooks: Sequence[str] = HOOKS
) -> list[Entry]:
    """Check *things* and read what they offer; *known* are the entries they join.

    Args:
        things: Middleware, functions, tools, `named` ones, and lists of these in any nesting.
        known: What is in use already.
        where: Named in errors.
        hooks: The hooks allowed here.

    Raises:
        UseError: What is wrong, with middleware and hook, and how to write it.
    """
    names = {entry.name: entry for entry in known}
    held = {id(entry.thing) for entry in names.values()}
    tools = {tool.name: entry.name for entry in names.values() for tool in entry.tools}
    types = {kind.type: kind for entry in names.values() for kind in entry.events}
    found: list[Entry] = []
    for given, thing in _flatten(things):
        entry = _read(given, thing, where)
        _check_place(entry, where, hooks, names, held)
        _check_tools(entry, tools)
        _check_events(entry, types)
        names[entry.name] = entry
        held.add(id(thing))
        found.append(entry)
    return found


def _flatten(things: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for thing in things:
        if isinstance(thing, Named):
            marked: Named[Any] = thing
            if isinstance(marked.thing, list | tuple):
                raise UseError(f"named({marked.name!r}, ...) takes one middleware, not a list: name its members")
            yield from _flatten([marked.thing], marked.name)
        elif isinstance(thing, list | tuple):
            yield from _flatten(thing)
        else:
            yield name, thing


def _read(given: str, thing: Any, where: str) -> Entry:
    if isinstance(thing, type):
        raise UseError(f"{where}: got the class {thing.__name__}, expected an instance: write {thing.__name__}(...)")
    if isinstance(thing, Tool):
        return Entry(given or f"tool:{thing.name}", thing, tools=(thing,))
    if inspect.isfunction(thing) or inspect.ismethod(thing):
        return _read_function(given, thing, where)
    if thing is None or isinstance(thing, str | int | float | dict | set):
        raise UseError(f"{where}: got {thing!r}, expected a middleware, a function, a tool, or a list of these")
    return _read_object(given, thing, where)


def _read_function(given: str, fn: Any, where: str) -> Entry:
    name = given or fn.__name__
    if not (inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn)):
        raise UseError(
            f"{where}: {name} is not async: a hook is written `async def {fn.__name__}(ctx, next)`; a tool has @tool"
        )
    _check_signature(f"{name}", fn, ("ctx", "next"), where)
    first = next(iter(inspect.signature(fn).parameters.values())).annotation
    word = first if isinstance(first, str) else getattr(first, "__name__", "")
    level = _LEVEL_OF.get(word.rpartition(".")[2].strip("'\""), "turn")
    if level == "session" and inspect.isasyncgenfunction(fn):
        raise UseError(f"{where}: {name} yields, and session hooks cannot stream: `await next()` instead")
    return Entry(name, fn, {level: fn})


def _read_object(given: str, thing: Any, where: str) -> Entry:
    kind: Any = type(thing)
    name: Any = given or getattr(thing, "name", "") or _kebab(kind.__name__)
    if not isinstance(name, str):
        raise UseError(f"{where}: the name of a {kind.__name__} is {name!r}, expected a string")
    found = _hooks_of(kind)
    for hook in HOOKS:
        held = getattr(thing, "__dict__", {}).get(hook)
        if held is not None and not callable(held):
            raise UseError(
                f"{where}: {name}: the attribute self.{hook} = {held!r} hides the hook {hook!r}; call it "
                f"something else, such as self.{hook}_name (reserved: {', '.join((*HOOKS, *RESERVED))})"
            )
    _check_methods(name, kind, where)
    tools = _tools_of(name, thing, where)
    state = getattr(thing, "state", None)
    if state is not None:
        try:
            compile_slice(state)
        except UseError as error:
            raise UseError(f"{where}: {name}: {error}") from None
        except TypeError:
            raise UseError(f"{where}: {name}: state must be a pydantic model class, got {state!r}") from None
    kinds = _events_of(name, thing, where)
    order = getattr(thing, "order", None) or NO_RULES
    if not isinstance(order, Order):
        raise UseError(f"{where}: {name}: order must be an Order(...), got {order!r}")
    if not (found or tools or state or kinds or getattr(thing, "store", None) is not None):
        raise UseError(f"{where}: {name} ({kind.__name__}) has no hook; hooks are {', '.join(HOOKS)}")
    return Entry(name, thing, {hook: getattr(thing, hook) for hook in found}, tools, state, kinds, order)


@cache
def _hooks_of(kind: type) -> tuple[str, ...]:
    """The hooks that a class has of its own; the base class's do nothing and do not count."""
    return tuple(
        hook
        for hook in HOOKS
        if getattr(kind, hook, None) is not None and getattr(kind, hook) is not getattr(Middleware, hook)
    )


@cache
def _check_methods(name: str, kind: type, where: str) -> None:
    for attribute in dir(kind):
        if attribute.startswith("_"):
            continue
        value: Any = inspect.getattr_static(kind, attribute)
        if isinstance(value, staticmethod | classmethod):
            value = cast(Any, value).__func__
        if attribute in HOOKS:
            if value is not getattr(Middleware, attribute):
                _check_hook(name, attribute, value, where)
        elif attribute not in RESERVED and inspect.isfunction(value) and _nearly(attribute, value):
            meant = _nearly(attribute, value)
            raise UseError(f"{where}: {name}.{attribute} is no hook; was {meant!r} meant? (hooks: {', '.join(HOOKS)})")


def _check_hook(name: str, hook: str, value: Any, where: str) -> None:
    if isinstance(value, Tool):
        raise UseError(
            f"{where}: {name}.{hook} is a tool of the same name as the hook {hook!r}; give the method another name"
        )
    if not callable(value):
        raise UseError(f"{where}: {name}.{hook} = {value!r} hides the hook {hook!r}; call it something else")
    streaming = inspect.isasyncgenfunction(value)
    if not (streaming or inspect.iscoroutinefunction(value)):
        raise UseError(f"{where}: {name}.{hook} is not async: write `async def {hook}(self{_comma(hook)})`")
    if streaming and hook in ("init", "dispose", "session"):
        raise UseError(f"{where}: {name}.{hook} yields, and {hook} hooks cannot stream; remove the `yield`")
    _check_signature(f"{name}.{hook}", value, ("self", *_PARAMETERS[hook]), where)


def _comma(hook: str) -> str:
    return "".join(f", {name}" for name in _PARAMETERS[hook])


def _check_signature(who: str, fn: Any, expected: tuple[str, ...], where: str) -> None:
    signature = inspect.signature(fn)
    try:
        signature.bind(*expected)
    except TypeError:
        raise UseError(f"{where}: {who}{signature} must take ({', '.join(expected)})") from None


def _nearly(attribute: str, value: Any) -> str | None:
    """The hook that a method's name was probably meant to be."""
    is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
    if not is_async and "next" not in inspect.signature(value).parameters:
        return None
    word = attribute.lower()
    for prefix in ("on_", "before_", "after_", "wrap_", "around_"):
        word = word.removeprefix(prefix)
    for suffix in ("_hook", "_call", "_middleware"):
        word = word.removesuffix(suffix)
    near = difflib.get_close_matches(word, HOOKS, 1, 0.75)
    return near[0] if near else None


def _kebab(name: str) -> str:
    """`CostCap` -> "cost-cap", `HTTPCache` -> "http-cache"."""
    out: list[str] = []
    for i, letter in enumerate(name):
        after_lower = i > 0 and not name[i - 1].isupper()
        before_lower = i > 0 and i + 1 < len(name) and name[i + 1].islower()
        out.append("-" if letter.isupper() and (after_lower or before_lower) else "")
        out.append(letter.lower())
    return "".join(out).strip("-_")


def _tools_of(name: str, thing: Any, where: str) -> tuple[Tool, ...]:
    given = getattr(thing, "tools", ())
    if isinstance(given, Tool) or not isinstance(given, Iterable):
        raise UseError(f"{where}: {name}: tools must be a tuple of tools, got {given!r}")
    items: Iterable[Any] = given
    tools = list(items)
    for each in tools:
        if not isinstance(each, Tool):
            raise UseError(f"{where}: {name}: {each!r} in tools is not a tool; decorate the function with @tool")
    held = {each.name for each in tools}
    kind: Any = type(thing)
    for attribute in dir(kind):
        value = inspect.getattr_static(kind, attribute)
        if isinstance(value, Tool) and value.name not in held:
            tools.append(getattr(thing, attribute))
    return tuple(each if each.owner is not None or not _unbound(each, thing) else each.__get__(thing) for each in tools)


def _unbound(each: Tool, thing: Any) -> bool:
    """Whether a tool in a class's own `tools = (...)` is one of its methods, which nobody has bound yet."""
    return any(value is each for value in vars(cast(Any, type(thing))).values())


def _events_of(name: str, thing: Any, where: str) -> tuple[type[Event], ...]:
    given: Any = getattr(thing, "events", ())
    if isinstance(given, type) or not isinstance(given, Iterable):
        raise UseError(f"{where}: {name}: events must be a tuple of event classes, got {given!r}")
    items: Iterable[Any] = given
    kinds = tuple(items)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Event)):
            raise UseError(f"{where}: {name}: {kind!r} in events is not an Event class")
    return cast(tuple[type[Event], ...], kinds)


def _check_place(entry: Entry, where: str, hooks: Sequence[str], names: Mapping[str, Entry], held: set[int]) -> None:
    if id(entry.thing) in held:
        raise UseError(f"{where}: {entry.name}: this object is in use already; make a second instance")
    if entry.name in names:
        kind = type(entry.thing).__name__
        raise UseError(
            f"{where}: a middleware named {entry.name!r} is in use already; name this one: "
            f'use(named("{entry.name}-2", {kind}(...)))'
        )
    for hook in entry.hooks:
        if hook not in hooks:
            raise UseError(f"{where} takes no {hook!r} hook, and {entry.name} has one; register it with agent.use()")
    if where == PER_TURN and getattr(entry.thing, "store", None) is not None:
        raise UseError(f"{where} takes no store, and {entry.name} has one; register it with agent.use()")


PER_TURN = "run(use=[...])"


def _check_tools(entry: Entry, tools: dict[str, str]) -> None:
    for each in entry.tools:
        if each.name in tools:
            raise UseError(f"two tools are named {each.name!r}: one of {tools[each.name]}, one of {entry.name}")
        tools[each.name] = entry.name


def _check_events(entry: Entry, types: dict[str, type[Event]]) -> None:
    for kind in entry.events:
        if types.setdefault(kind.type, kind) is not kind:
            raise UseError(
                f"{entry.name}: two event classes have the type {kind.type!r}: {types[kind.type].__qualname__} and "
                f"{kind.__qualname__}"
            )
