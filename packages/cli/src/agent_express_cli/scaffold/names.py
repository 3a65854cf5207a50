"""From the one name that a user gives to all names in the code. Pure."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from ..exits import CommandError
from .kinds import Kind

PREFIX = "agent-express-"
LONGEST = 32
"""Letters of one part: a line that imports the class still fits into 120 columns."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OURS = _words(
    "anthropic budget calls checkpoint cli conformance core deep google guards memory observe offline openai "
    "permissions sandbox skills sub-agents tasks tools tools-mcp web workspace"
)
"""Areas whose distribution, agent-express-AREA, is one of this project's own, or will be."""

DEVICES = frozenset(["aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))])
"""Names that Windows keeps for itself, whatever the ending."""

TAKEN = _words(
    # The framework's
    "Agent AgentContext Answer App End Event Events ExpressError Limits Message Middleware ModelContext ModelRequest "
    "ModelResponse Next Order ReasoningDelta Restarted Session SessionContext TextDelta Tool ToolCall ToolCalled "
    "ToolContext ToolError ToolResult ToolReturned TurnAbortedError TurnContext TurnEnded TurnParkedError Usage "
    "AuthenticationError BadRequestError ContextOverflowError ModelError ProviderUnavailableError RateLimitError "
    "UnsupportedError ToolCallDelta Model Part Section Settings Text "
    "Harness MiddlewareConformance ProviderConformance Refusal Reply Say ScriptedModel Spoken "
    # those of libraries
    "Annotated Any AsyncGenerator AsyncIterator BaseModel Callable Field Iterator Literal Mapping Path Protocol "
    "Sequence TypeAlias "
    # and those that the templates define
    "Backend BackendError Calls Echo Reader RepeatRefused Repeats Today Wire"
)
"""Classes that a class of the same name would hide."""

FILES = _words("annotations backend bundle conftest main model named repeats tests today tools wire")
"""Modules and functions that the templates have already."""

PART = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """Everything that is called after the one name.

    Attributes:
        name: As it was given, "my-guard"; the part after the dot.
        area: The part before the dot of the entry, "my-guard" too where no area was given.
        entry: How users write it, "my-guard.my-guard"; of a provider and a project "my-guard".
        distribution: "agent-express-my-guard"; of a project "my-guard".
        module: "agent_express_my_guard"; of a project "my_guard".
        file: The module that holds it, "my_guard".
        class_name: "MyGuard".
    """

    name: str
    area: str
    entry: str
    distribution: str
    module: str
    file: str
    class_name: str


def package_names(given: str, kind: Kind) -> Names:
    """Derive the names of a package from "my-guard" or "acme.my-guard".

    Raises:
        CommandError: What is wrong with the name, and one that would do.
    """
    if not given:
        raise CommandError("the package has no name; write one such as my-guard, or acme.my-guard")
    area, dot, name = given.removeprefix(PREFIX).rpartition(".")
    area = area if dot else name
    if dot and kind is Kind.PROVIDER:
        raise CommandError(
            f"name {given!r}: a provider is one word, the part before the colon of a model's name; write {_kebab(name)}"
        )
    for part in dict.fromkeys([area, name]):
        _check(part, given)
    if area in OURS:
        raise CommandError(
            f"name {given!r}: {PREFIX}{area} is a package of Agent Express itself; put a word of your own in front: "
            f"acme.{name}"
        )
    _check_area(area, given)
    class_name = f"{_camel(name).removesuffix('Model')}Model" if kind is Kind.PROVIDER else _camel(name)
    _check_code(name, class_name, given)
    if kind is Kind.BUNDLE and hasattr(builtins, _snake(name)):
        raise CommandError(
            f"name {given!r}: Python has a function {_snake(name)} already; choose another one: my-{name}"
        )
    entry = name if kind is Kind.PROVIDER else f"{area}.{name}"
    distribution = f"{PREFIX}{area}"
    return Names(name, area, entry, distribution, _snake(distribution), _snake(name), class_name)


def project_names(given: str) -> Names:
    """Derive the names of a project from "my-shop".

    Raises:
        CommandError: What is wrong with the name, and one that would do.
    """
    if not given:
        raise CommandError("the project has no name; write one such as my-shop")
    _check(given, given)
    snake = _snake(given)
    if given.startswith("agent-express"):
        raise CommandError(
            f"name {given!r}: names that start with agent-express are those of its packages; for a package of your own "
            "there is `agent-express plugins new`"
        )
    _check_code(given, "", given)
    return Names(given, given, given, given, snake, snake, _camel(given))


def _check(part: str, given: str) -> None:
    """Refuse what is no part of a name: other letters, no letters, too many of them."""
    if not PART.fullmatch(part):
        better = _kebab(part)
        hint = f"; write {better}" if better and better != part else ", such as my-guard"
        raise CommandError(
            f"name {given!r}: a name is made of lower-case letters and digits with single hyphens between them, and "
            f"starts with a letter{hint}"
        )
    if len(part) > LONGEST:
        raise CommandError(f"name {given!r}: {part!r} has {len(part)} letters, a part of a name has at most {LONGEST}")


def _check_area(area: str, given: str) -> None:
    """Refuse a distribution that would be taken for another one."""
    if area.startswith("agent-express"):
        raise CommandError(f"name {given!r}: {PREFIX} is put in front of the name by itself; leave it out")


def _check_code(name: str, class_name: str, given: str) -> None:
    """Refuse what cannot be the name of a module or of a class; a project has no class."""
    word = _snake(name)
    for wrong, why in _REASONS:
        if wrong(word, class_name):
            what = why.format(word=word, class_name=class_name)
            raise CommandError(f"name {given!r}: {what}; choose another one: my-{name}")


def _hides(word: str, class_name: str) -> bool:
    return class_name in TAKEN or (class_name != "" and hasattr(builtins, class_name))


_REASONS: tuple[tuple[Callable[[str, str], bool], str], ...] = (
    (lambda word, class_name: keyword.iskeyword(word) or keyword.iskeyword(class_name), "{word} is a word of Python"),
    (lambda word, class_name: word in sys.stdlib_module_names, "{word} is a module of Python's standard library"),
    (lambda word, class_name: word in DEVICES, "Windows keeps {word} for a device"),
    (lambda word, class_name: word.startswith("test"), "pytest takes what starts with test for a test"),
    (lambda word, class_name: word in FILES, "the package has a module {word} already"),
    (_hides, "there is a class {class_name} already"),
)


def _snake(kebab: str) -> str:
    return kebab.replace("-", "_")


def _camel(kebab: str) -> str:
    return "".join(word.capitalize() for word in kebab.split("-"))


def _kebab(text: str) -> str:
    """The name that *text* was probably meant to be; empty where there is none."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    words = re.findall(r"[a-z0-9]+", spaced.lower())
    name = "-".join(words).lstrip("0123456789-")[:LONGEST].rstrip("-")
    return name if name and PART.fullmatch(name) else ""
