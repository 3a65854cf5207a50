"""Settings: the typed parameters of a factory, as a schema, and from a table to the object.

What has no form in JSON, a callable say, is written "module:attr" and imported.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from .docstrings import parse
from .errors import BrokenPluginError, ExpressError, SettingsError, SettingsProblem, UseError
from .forms import written
from .origins import Origin, remember
from .parameters import NO_SCHEMA, Parameter, PlainSchema, compile_parameters, describe, hints_of, tidy
from .plugins import Plugin
from .references import told
from .secrets import Secrets, resolve_secret, reveal

Factory: TypeAlias = Callable[..., Any]

_NO_JSON = "<has no form in JSON>"
_NONE: Mapping[str, Any] = MappingProxyType({})


class Settings:
    """What a factory can be told: its parameters, or its `Config`, a pydantic model that it takes as its one argument.

    Attributes:
        factory: A class or a function.
        given: How many parameters in front are no settings: a model's factory is given its name.
        schema: The JSON schema, an object.

    Raises:
        UseError: It cannot be called, an annotation cannot be resolved, or a parameter cannot be named.
    """

    def __init__(self, factory: Factory, given: int = 0) -> None:
        self.factory, self.given = factory, given
        own: Any = getattr(factory, "Config", None)
        if isinstance(own, type) and issubclass(own, BaseModel):
            self.model: type[BaseModel] | None = own
            self._adapter, self.schema = _compile_model(f"{_name(factory)}.Config", own)
            self._defaults: Mapping[str, Any] = _NONE
        else:
            self.model = None
            parameters = _parameters(factory, given)
            self._adapter, self.schema = _compile(factory, parameters)
            self._defaults = {each.name: each.default for each in parameters}
        self.schema.pop("description", None)
        self.schema.setdefault("properties", {})
        self.schema.setdefault("additionalProperties", False)
        self._extra = None if _takes_more(self.schema) else "forbid"

    @classmethod
    def of(cls, factory: Factory, given: int = 0) -> Settings:
        """The settings of *factory*, compiled once.

        Raises:
            UseError: See the class.
        """
        can_be_kept = getattr(factory, "__hash__", None) is not None
        return _settings(factory, given) if can_be_kept else cls(factory, given)

    @property
    def required(self) -> tuple[str, ...]:
        """The settings without a default."""
        return tuple(self.schema.get("required", ()))

    def validate(
        self,
        config: Mapping[str, Any],
        *,
        who: str = "",
        secrets: Secrets = resolve_secret,
        base: Path | None = None,
        from_file: bool = False,
    ) -> Any:
        """Check *config* and return it as an object: a `Config`, or one with an attribute for each setting.

        Args:
            config: Settings by name. A secret is a table of one key, `{"env": "NAME"}`.
            who: Named in errors.
            secrets: What resolves the secrets.
            base: The folder that files of secrets are relative to.
            from_file: Whether a secret written as text is refused.

        Raises:
            SettingsError: What does not fit, all of it.
            BrokenPluginError: A check of the plugin's own failed; the cause is what it raised.
        """
        revealed, problems = reveal(config, self.schema, secrets, base=base, from_file=from_file)
        try:
            held = self._adapter.validate_python(revealed, extra=cast(Any, self._extra))
        except ValidationError as error:
            absent = {problem.path for problem in problems}
            problems += [problem for problem in self._problems(error) if problem.path not in absent]
        except (Exception, SystemExit) as error:
            whose = who or _name(self.factory)
            raise BrokenPluginError(told(whose, "checking its settings", error)) from error
        else:
            if not problems:
                return held
        raise SettingsError(who or _name(self.factory), problems)

    def make(
        self,
        config: Mapping[str, Any] = _NONE,
        *given: Any,
        plugin: Plugin | None = None,
        secrets: Secrets = resolve_secret,
        base: Path | None = None,
        from_file: bool = False,
    ) -> Any:
        """Check *config* and call the factory with it; see `validate`.

        Raises:
            SettingsError: What does not fit, all of it; also what the factory refuses by a ValueError.
            BrokenPluginError: The factory failed for another reason; the cause is what it raised.
        """
        who = plugin.name if plugin is not None else _name(self.factory)
        held = self.validate(config, who=who, secrets=secrets, base=base, from_file=from_file)
        try:
            made = self.factory(*given, held) if self.model is not None else self.factory(*given, **self._told(held))
        except ExpressError:
            raise
        except ValidationError as error:  # it shows what was given, a secret perhaps
            raise SettingsError(who, self._problems(error)) from None
        except ValueError as error:
            raise SettingsError(who, [SettingsProblem((), str(error).removeprefix(f"{who}: "))]) from error
        except (Exception, SystemExit) as error:
            raise BrokenPluginError(told(who, f"calling {_name(self.factory)}()", error)) from error
        remember(made, Origin(plugin, held))
        return made

    def dump(self, held: Any) -> dict[str, Any]:
        """Validated settings as JSON values; secrets stay hidden, and what was imported is left out."""
        dumped: Any = self._adapter.dump_python(held, mode="json", fallback=lambda _: _NO_JSON)
        return {key: value for key, value in cast(dict[str, Any], dumped).items() if value != _NO_JSON}

    def _told(self, held: Any) -> dict[str, Any]:
        """The arguments; a default is left to the factory, which may tell it from the same value given."""
        return {key: value for key, value in vars(held).items() if value is not self._defaults.get(key, _NONE)}

    def _problems(self, error: ValidationError) -> list[SettingsProblem]:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        return [SettingsProblem(*self._problem(each["type"], tuple(each["loc"]), each["msg"])) for each in found]

    def _problem(self, kind: str, path: tuple[str | int, ...], message: str) -> tuple[tuple[str | int, ...], str]:
        path = tuple(part for part in path if not str(part).startswith("function-"))  # a choice, as pydantic calls it
        name = str(path[-1]) if path else ""
        if kind in ("unexpected_keyword_argument", "extra_forbidden"):
            return path, _unknown(name, list(self.schema["properties"])) if len(path) == 1 else "no such setting"
        if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
            about = self.schema["properties"].get(name, {}).get("description", "") if len(path) == 1 else ""
            return path, f"this setting is required{f': {about}' if about else ''}"
        return path, message.removeprefix("Value error, ")


@functools.lru_cache(maxsize=1024)
def _settings(factory: Factory, given: int) -> Settings:
    return Settings(factory, given)


def _compile_model(who: str, model: type[BaseModel]) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    try:
        return TypeAdapter(model), tidy(model.model_json_schema(schema_generator=PlainSchema))
    except NO_SCHEMA as error:
        raise UseError(f"{who} has no JSON schema: {str(error).splitlines()[0]}") from None


def _parameters(factory: Factory, given: int) -> list[inspect.Parameter]:
    try:
        found = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError) as error:  # it is no callable, or a builtin that tells nothing of its parameters
        raise UseError(f"{_name(factory)} cannot be called with settings: {error}") from None
    return [each for each in found[given:] if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def _compile(factory: Factory, parameters: list[inspect.Parameter]) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    who, code = _name(factory), _code(factory)
    hints = hints_of(who, code)
    described = {**_described(factory), **_described(code)}
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UseError(f"{who}: parameter {parameter} has no name that settings could use; remove the `/`")

    def fields(*, thorough: bool) -> list[Parameter]:
        known = [(each, written(hints.get(each.name, _annotated(each)), thorough=thorough)) for each in parameters]
        return [describe(each, hint, described.get(each.name)) for each, hint in known]

    try:  # all at once takes a third of one after another, and fails only where one has no form in JSON
        return compile_parameters(who, who, fields(thorough=False), hints)
    except UseError:
        return compile_parameters(who, who, fields(thorough=True), hints)


def _code(factory: Any) -> Callable[..., Any]:
    """The function whose annotations are those of the parameters."""
    if isinstance(factory, functools.partial):
        return _code(cast(Any, factory).func)
    if not isinstance(factory, type):
        return factory if inspect.isroutine(factory) else type(factory).__call__
    own: Any = factory.__dict__
    return factory.__new__ if "__new__" in own and "__init__" not in own else getattr(factory, "__init__")  # noqa: B009


def _annotated(parameter: inspect.Parameter) -> Any:
    """The annotation in the signature itself; pydantic's models have theirs nowhere else."""
    return (
        Any
        if isinstance(parameter.annotation, str) or parameter.annotation is parameter.empty
        else parameter.annotation
    )


def _takes_more(schema: Any) -> bool:
    """Whether an object somewhere in *schema* takes keys that it does not name, because its model says so."""
    if isinstance(schema, dict):
        held = cast(dict[str, Any], schema)
        own = "properties" in held and held.get("additionalProperties", False) is not False
        return own or any(map(_takes_more, held.values()))
    if isinstance(schema, list):
        items: list[Any] = schema
        return any(map(_takes_more, items))
    return False


def _described(thing: Any) -> dict[str, str]:
    return parse(inspect.getdoc(thing) or "")[1]


def _name(factory: Factory) -> str:
    return str(getattr(factory, "__name__", type(factory).__name__))


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"no such setting; meant {near[0]!r}?"
    return f"no such setting; there are: {', '.join(known)}" if known else "no such setting; there are none"
