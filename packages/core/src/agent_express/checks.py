"""What `use()` checks: everything, before anything runs, with messages that say how to write it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, cast

from .contexts import ModelContext, SessionContext, ToolContext, TurnContext
from .errors import UseError
from .events import Event
from .middleware import HOOKS, RESERVED, Entry, Middleware, Renamed
from .order import NO_RULES, Order
from .state import compile_slice
from .tools import Tool

PER_TURN = "run(use=[...])"
_PARAMETERS = {
    "init": ("ctx",),
    "dispose": (),
    "session": ("ctx", "next"),
    "turn": ("ctx", "next"),
    "model": ("ctx", "next"),
    "tool": ("ctx", "next"),
}
_CONTEXTS = (SessionContext, TurnContext, ModelContext, ToolContext)
_LEVEL_OF = {"SessionContext": "session", "TurnContext": "turn", "ModelContext": "model", "ToolContext": "tool"}


def read(
    things: Iterable[Any],
    known: Iterable[Entry] = (),
    *,
    where: str = "use()",
    hooks: Sequence[str] = HOOKS,
    prefix: str = "",
) -> list[Entry]:
    """Check *things* and read what they offer; *known* are the entries they join.

    Args:
        things: Middleware, functions, tools, `named` ones, and lists of these in any nesting.
        known: What is in use already.
        where: Named in errors.
        hooks: The hooks allowed here.
        prefix: Put before each name.

    Raises:
        UseError: What is wrong, with middleware and hook, and how to write it.
    """
    stack = Stack(known)
    found: list[Entry] = []
    for given, thing in _flatten(things):
        entry = _read(given, thing, where)
        entry.name = prefix + entry.name
        for hook in entry.hooks:
            if hook not in hooks:
                raise UseError(
                    f"{where} takes no {hook!r} hook, and {entry.name} has one; register it with agent.use()"
                )
        if hooks is not HOOKS and getattr(thing, "store", None) is not None:
            raise UseError(f"{where} takes no store, and {entry.name} has one; register it with agent.use()")
        stack.add(entry, where)
        found.append(entry)
    return found


class Stack:
    """Entries that stand together: their names, objects, tools and event types are unique."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._names: set[str] = set()
        self._held: set[int] = set()
        self._tools: dict[str, str] = {}
        self._types: dict[str, type[Event]] = {}
        for entry in entries:
            self.add(entry, "use()")

    def add(self, entry: Entry, where: str) -> None:
        """Add *entry*.

        Raises:
            UseError: Its name, its object, one of its tools or one of its event types is there already.
        """
        if id(entry.thing) in self._held and not inspect.isfunction(entry.thing):
            raise UseError(f"{where}: {entry.name}: this object is in use already; make a second instance")
        for each in entry.tools:
            if each.name in self._tools:
                raise UseError(
                    f"two tools are named {each.name!r}: one of {self._tools[each.name]}, one of {entry.name}"
                )
        if entry.name in self._names:
            kind = type(entry.thing).__name__
            raise UseError(
                f"{where}: a middleware named {entry.name!r} is in use already; name this one: "
                f'use(named("{entry.name}-2", {kind}(...)))'
            )
        for event in entry.events:
            known = self._types.get(event.type, event)
            if known is not event:
                names = f"{known.__qualname__} and {event.__qualname__}"
                raise UseError(f"{entry.name}: two event classes have the type {event.type!r}: {names}")
        self._names.add(entry.name)
        self._held.add(id(entry.thing))
        self._tools |= {each.name: entry.name for each in entry.tools}
        self._types |= {event.type: event for event in entry.events}


def _flatten(things: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for thing in things:
        if isinstance(thing, Renamed):
            marked: Renamed[Any] = thing
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
    first = _first_annotation(fn)
    level = _level(name, first, where)
    if level == "session" and inspect.isasyncgenfunction(fn):
        raise UseError(f"{where}: {name} yields, and session hooks cannot stream: `await next()` instead")
    return Entry(name, fn, {level: fn})


def _first_annotation(fn: Any) -> Any:
    """What the first parameter is annotated with; its text, where that cannot be resolved."""
    try:
        return next(iter(inspect.signature(fn, eval_str=True).parameters.values())).annotation
    except NameError:
        return next(iter(inspect.signature(fn).parameters.values())).annotation


def _level(name: str, annotation: Any, where: str) -> str:
    """The level of a hook function: what its first parameter is annotated with; nothing means turn."""
    if annotation in (inspect.Parameter.empty, Any, object, "Any", "object"):
        return "turn"
    if isinstance(annotation, type):
        level = next((_LEVEL_OF[kind.__name__] for kind in _CONTEXTS if annotation is kind), None)
        if level is not None:
            return level
    word = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    level = _LEVEL_OF.get(word.strip("'\"").rpartition(".")[2]) if isinstance(annotation, str) else None
    if level is None:
        raise UseError(
            f"{where}: {name}'s first parameter is annotated {word}, expected {', '.join(_LEVEL_OF)}, or nothing"
        )
    return level


def _read_object(given: str, thing: Any, where: str) -> Entry:
    kind: Any = type(thing)
    name: Any = given or getattr(thing, "name", "") or _kebab(kind.__name__)
    if not isinstance(name, str):
        raise UseError(f"{where}: the name of a {kind.__name__} is {name!r}, expected a string")
    found = _hooks_of(kind)
    for hook in HOOKS:
        held = getattr(thing, "__dict__", {}).get(hook)
        if held is not None:
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
        is_static = isinstance(value, staticmethod)
        if isinstance(value, staticmethod | classmethod):
            value = cast(Any, value).__func__
        if attribute in HOOKS:
            if value is not getattr(Middleware, attribute):
                _check_hook(name, attribute, value, where, is_static=is_static)
        elif attribute not in RESERVED and inspect.isfunction(value) and (meant := _nearly(attribute, value)):
            raise UseError(f"{where}: {name}.{attribute} is no hook; was {meant!r} meant? (hooks: {', '.join(HOOKS)})")


def _check_hook(name: str, hook: str, value: Any, where: str, *, is_static: bool) -> None:
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
    _check_signature(f"{name}.{hook}", value, (*(() if is_static else ("self",)), *_PARAMETERS[hook]), where)


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
    return any(value is each for kind in cast(Any, type(thing)).__mro__ for value in vars(kind).values())


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
