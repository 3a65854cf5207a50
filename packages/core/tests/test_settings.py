"""Settings: from a factory's signature to a schema, from a table to the object, and secrets by reference."""

from __future__ import annotations

import functools
import json
import math
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, SecretStr, WithJsonSchema

from agent_express.errors import BrokenPluginError, SecretError, SettingsError, UseError
from agent_express.origins import origin_of
from agent_express.secrets import resolve_secret
from agent_express.settings import Settings


class Level(BaseModel):
    """A nested setting."""

    name: str
    token: SecretStr | None = None
    weight: float = 1.0


class Wide:
    """Takes settings of every kind.

    Args:
        limit: Tokens; at least 1.
        key: The key.
        on_done: Called at the end.
    """

    def __init__(
        self,
        limit: Annotated[int, Field(ge=1)],
        *,
        per: Literal["turn", "day"] = "turn",
        key: SecretStr | None = None,
        levels: list[Level] = [],
        headers: dict[str, str] = {},
        folder: Path = Path(),
        on_done: Callable[[str], None] | None = None,
        rule: Annotated[object, "opaque"] = None,
        wait: timedelta = timedelta(seconds=3),
    ) -> None:
        self.limit, self.per, self.key, self.levels, self.headers = limit, per, key, levels, headers
        self.folder, self.on_done, self.rule, self.wait = folder, on_done, rule, wait


class Opaque:
    """Has no form in JSON."""


def make(config: dict[str, Any], **options: Any) -> Any:
    return Settings.of(Wide).make(config, **options)


def problems(config: dict[str, Any], factory: Any = Wide, **options: Any) -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        Settings.of(factory).make(config, **options)
    return {".".join(map(str, each.path)): each.message for each in caught.value.problems}


# --- the schema ---------------------------------------------------------------------------------


def test_the_schema_is_made_from_the_signature_and_the_docstring() -> None:
    schema = Settings.of(Wide).schema
    assert schema["properties"]["limit"] == {"description": "Tokens; at least 1.", "minimum": 1, "type": "integer"}
    assert schema["properties"]["per"] == {"default": "turn", "enum": ["turn", "day"], "type": "string"}
    assert schema["required"] == ["limit"]
    assert schema["additionalProperties"] is False
    secret, _ = schema["properties"]["key"]["anyOf"]
    assert (secret["format"], secret["writeOnly"]) == ("password", True)
    assert json.loads(json.dumps(schema)) == schema


def test_what_json_lacks_is_written_as_module_and_attribute() -> None:
    called, nothing = Settings.of(Wide).schema["properties"]["on_done"]["anyOf"]
    assert called == {"type": "string", "format": "module:attr"}
    assert nothing == {"type": "null"}


def test_a_factory_without_parameters_takes_an_empty_table() -> None:
    assert Settings.of(Opaque).schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert isinstance(Settings.of(Opaque).make(), Opaque)
    assert problems({"x": 1}, Opaque) == {"x": "no such setting; there are none"}


def test_a_plugin_may_set_a_config_of_its_own() -> None:
    class Own:
        class Config(BaseModel, extra="forbid"):
            """Ignored as the description of the plugin."""

            limit: int = Field(ge=1, description="Tokens.")

        def __init__(self, config: Config) -> None:
            self.limit = config.limit

    assert Settings.of(Own).make({"limit": 4}).limit == 4
    assert Settings.of(Own).schema["properties"]["limit"]["description"] == "Tokens."
    assert problems({}, Own) == {"limit": "this setting is required: Tokens."}
    assert problems({"limit": 4, "limits": 5}, Own) == {"limits": "no such setting; meant 'limit'?"}


def test_functions_and_dataclasses_are_factories_too() -> None:
    @dataclass
    class Data:
        """A middleware.

        Args:
            size: How many.
        """

        size: int = 3

    def build(size: int, *more: int, **others: str) -> list[int]:
        return [size]

    assert Settings.of(Data).make({"size": "4"}).size == 4
    assert Settings.of(build).make({"size": 2}) == [2]
    assert problems({"more": 1}, build)["more"].startswith("no such setting")


def test_a_model_is_given_its_name_which_is_no_setting() -> None:
    def create(name: str, *, base_url: str | None = None) -> tuple[str, str | None]:
        return name, base_url

    settings = Settings.of(create, 1)
    assert list(settings.schema["properties"]) == ["base_url"]
    assert settings.make({"base_url": "x"}, "gpt") == ("gpt", "x")


@pytest.mark.parametrize("parameter", ["limit, /", "limit: 'Nowhere'"])
def test_a_signature_that_settings_cannot_reach_is_refused_by_name(parameter: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def odd({parameter}): ...", space)
    with pytest.raises(UseError, match="odd: "):
        Settings(space["odd"])


@pytest.mark.parametrize("hint", ["json.nothing", "print | None", "1 +"])
def test_an_annotation_that_is_no_type_is_refused_by_name(hint: str) -> None:
    def odd(limit: Any) -> None: ...

    odd.__annotations__["limit"] = hint
    with pytest.raises(UseError, match="odd: an annotation is no type: "):
        Settings(odd)


@pytest.mark.parametrize("thing", [5, dict, [], "text"])
def test_what_is_no_factory_is_refused(thing: Any) -> None:
    with pytest.raises(UseError, match=r"^\w+ cannot be called with settings: "):
        Settings.of(thing)


class Open(BaseModel, extra="allow"):
    """Takes more than it names."""

    name: str


def check(value: int) -> int:
    """Break."""
    raise KeyError(value)


class Kept:
    """Keeps what it is called with."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, limit: int, per: str = "turn") -> tuple[int, str]:
        return limit, per


class New:
    """Takes its settings where it is made."""

    def __new__(cls, limit: "int", per: str = "turn") -> Any:  # noqa: UP037 - a text, as from another module
        return limit, per


@pytest.mark.parametrize("factory", [Kept(), New, functools.partial(Kept(), per="turn"), functools.partial(New)])
def test_whatever_can_be_called_is_a_factory(factory: Any) -> None:
    assert Settings.of(factory).make({"limit": "3"}) == (3, "turn")
    assert set(Settings.of(factory).schema["properties"]) == {"limit", "per"}


def test_a_pydantic_model_is_a_factory_whose_fields_are_its_settings() -> None:
    class Modelled(BaseModel):
        limit: int = Field(ge=1)
        key: SecretStr | None = Field(default=None, alias="api_key")
        tags: list[str] = Field(default_factory=lambda: ["default"])

    made = Settings.of(Modelled).make({"limit": 1})
    assert (made.limit, made.tags) == (1, ["default"])
    assert problems({"limit": 0}, Modelled) == {"limit": "Input should be greater than or equal to 1"}
    assert "never written as text" in problems({"limit": 1, "api_key": "sk-123"}, Modelled, from_file=True)["api_key"]


def test_a_default_that_json_cannot_say_is_left_out_of_the_schema_and_to_the_factory() -> None:
    missing: Any = object()

    def build(limit: int = missing, most: float = float("inf"), kind: type[Exception] = KeyError) -> list[Any]:
        return [limit is missing, most, kind]

    settings = Settings.of(build)
    assert "default" not in str(settings.schema)
    assert settings.make() == [True, float("inf"), KeyError]


def test_a_key_that_a_model_of_the_plugin_does_not_know_is_no_such_setting() -> None:
    class Own:
        class Config(BaseModel):
            limit: int = 1
            level: Level | None = None

        def __init__(self, config: Config) -> None:
            self.config = config

    assert problems({"limti": 4}, Own) == {"limti": "no such setting; meant 'limit'?"}
    assert problems({"level": {"name": "a", "wieght": 2}}, Own) == {"level.wieght": "no such setting"}
    assert problems({"limit": 1, "levels": [{"name": "a", "nmae": "b"}]}) == {"levels.0.nmae": "no such setting"}


def test_a_model_of_the_plugin_may_take_more_than_it_names() -> None:
    class Own:
        class Config(Open):
            inner: Open | None = None

        def __init__(self, config: Config) -> None:
            self.config = config

    made = Settings.of(Own).make({"name": "a", "more": 1, "inner": {"name": "b", "other": 2}})
    assert made.config.model_dump() == {"name": "a", "more": 1, "inner": {"name": "b", "other": 2}}


def test_a_config_without_a_form_in_json_is_refused_by_name() -> None:
    class Own:
        class Config(BaseModel):
            call: Callable[[], int]

    with pytest.raises(UseError, match=r"Own.Config has no JSON schema: "):
        Settings.of(Own)


# --- from a table to the object -----------------------------------------------------------------


def test_a_table_makes_the_object_and_defaults_are_not_shared() -> None:
    made = make({"limit": 2, "levels": [{"name": "a"}], "folder": "x/y", "wait": 5})
    assert (made.limit, made.levels, made.folder, made.wait) == (
        2,
        [Level(name="a")],
        Path("x/y"),
        timedelta(seconds=5),
    )
    assert made.on_done is None
    one, other = make({"limit": 1}), make({"limit": 1})
    one.headers["x"] = "y"
    assert other.headers == {}


def test_all_that_does_not_fit_is_told_with_its_place() -> None:
    told = problems({"limit": "many", "pre": 1, "levels": [{"name": "a", "weight": "x"}, {}], "per": "week"})
    assert set(told) == {"limit", "pre", "levels.0.weight", "levels.1.name", "per"}
    assert told["pre"] == "no such setting; meant 'per'?"
    assert told["levels.1.name"] == "this setting is required"


def test_what_is_imported_is_imported_when_it_is_needed_and_checked() -> None:
    assert make({"limit": 1, "on_done": "json:dumps"}).on_done is json.dumps
    assert make({"limit": 1, "on_done": print}).on_done is print
    assert "no module 'nowhere'" in problems({"limit": 1, "on_done": "nowhere:x"})["on_done"]
    assert "json has no 'dumpz'; was 'dump" in problems({"limit": 1, "on_done": "json:dumpz"})["on_done"]
    assert "not written as module:attribute" in problems({"limit": 1, "on_done": "json"})["on_done"]
    assert "expected a callable, found str" in problems({"limit": 1, "on_done": "json:__name__"})["on_done"]


def test_of_a_choice_what_json_lacks_is_imported_and_the_rest_is_as_written() -> None:
    def build(
        wait: Annotated[float, Field(ge=0)] | Callable[[int], float] = 1.0,
        text: str | Callable[[], str] | None = None,
    ) -> list[Any]:
        return [wait, text]

    settings = Settings.of(build)
    assert settings.schema["properties"]["wait"]["default"] == 1.0
    assert {"format": "module:attr", "type": "string"} in settings.schema["properties"]["wait"]["anyOf"]
    assert settings.make({"wait": 2}) == [2.0, None]
    assert settings.make({"wait": "math:sqrt", "text": "plain"}) == [math.sqrt, "plain"]
    assert settings.make({"text": "os:getcwd"}) == [1.0, os.getcwd]
    told = problems({"wait": "math:sqrtt"}, build)
    assert "math has no 'sqrtt'; was 'sqrt' meant?" in told["wait"]


def test_classes_and_callables_are_imported_wherever_they_stand() -> None:
    def create(
        on: tuple[type[Exception], ...] = (),
        kind: type[Exception] | None = None,
        steps: dict[str, list[Callable[..., object]]] = {},
        wait: float | Callable[[int], float] = 1.0,
    ) -> tuple[Any, ...]:
        return on, kind, steps, wait

    settings = Settings.of(create)
    assert settings.schema["properties"]["on"]["items"] == {"type": "string", "format": "module:attr"}
    config = {
        "on": ["builtins:ValueError", "asyncio:TimeoutError"],
        "kind": "builtins:KeyError",
        "steps": {"a": ["json:dumps"]},
        "wait": "math:sqrt",
    }
    assert settings.make(config) == ((ValueError, TimeoutError), KeyError, {"a": [json.dumps]}, math.sqrt)
    assert settings.make({"kind": None, "wait": 3}) == ((), None, {}, 3)
    assert problems({"on": ["builtins:int"]}, create) == {"on.0": "expected a class of Exception, found the class int"}
    assert problems({"kind": "json:dumps"}, create) == {"kind": "expected a class of Exception, found function"}


def test_a_default_that_can_be_changed_in_place_is_not_shared() -> None:
    def create(level: Level = Level(name="a")) -> Level:
        return level

    assert "level" not in Settings.of(create).required
    assert Settings.of(create).make() == Level(name="a")


def test_what_the_constructor_refuses_by_a_value_error_is_a_problem_of_the_settings() -> None:
    def picky(limit: int = 0) -> None:
        raise ValueError(f"picky: limit must be at least 1, got {limit}")

    assert problems({}, picky) == {"": "limit must be at least 1, got 0"}


@pytest.mark.parametrize("raised", [KeyError("x"), SystemExit(2), TypeError("odd")])
def test_what_the_constructor_breaks_on_is_told_with_its_place(raised: BaseException) -> None:
    def broken() -> None:
        raise raised

    with pytest.raises(BrokenPluginError, match=r"calling broken\(\) failed at test_settings.py, line \d+: ") as caught:
        Settings.of(broken).make()
    assert caught.value.__cause__ is raised


def test_a_check_of_the_plugin_that_breaks_is_told_with_its_place() -> None:
    def build(limit: Annotated[int, AfterValidator(check)] = 1) -> None: ...

    with pytest.raises(
        BrokenPluginError, match=r"build: checking its settings failed at test_settings.py, line \d+: Key"
    ):
        Settings.of(build).make({"limit": 2})


def test_it_is_remembered_how_an_object_was_made_as_long_as_it_lives() -> None:
    made = make({"limit": 7})
    origin = origin_of(made)
    assert origin is not None
    assert (origin.plugin, origin.config.limit) == (None, 7)
    assert origin_of(Wide(7)) is None


@given(st.fixed_dictionaries({"limit": st.integers(1, 10**9)}, optional={"per": st.sampled_from(["turn", "day"])}))
def test_checked_settings_written_as_json_make_the_same_again(config: dict[str, Any]) -> None:
    settings = Settings.of(Wide)
    dumped = json.loads(json.dumps(settings.dump(settings.validate(config))))
    assert settings.dump(settings.validate(dumped)) == dumped
    assert dumped["limit"] == config["limit"]


def test_what_has_no_form_in_json_is_left_out_of_it_and_secrets_are_hidden() -> None:
    settings = Settings.of(Wide)
    dumped = settings.dump(settings.validate({"limit": 1, "on_done": "json:dumps", "key": {"env": "PATH"}}))
    assert "on_done" not in dumped
    assert set(dumped["key"]) == {"*"}


# --- secrets ------------------------------------------------------------------------------------


def test_a_secret_is_read_from_the_environment_or_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "from the environment")
    (tmp_path / "key.txt").write_text("from a file\n", encoding="utf-8")
    for reference in ({"env": "SHOP_KEY"}, {"file": "key.txt"}, {"file": str(tmp_path / "key.txt")}):
        made = make({"limit": 1, "key": reference}, base=tmp_path, from_file=True)
        assert made.key.get_secret_value() == f"from {'a file' if 'file' in reference else 'the environment'}"


def test_a_secret_is_found_wherever_a_text_may_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "s")
    config = {"limit": 1, "headers": {"authorization": {"env": "SHOP_KEY"}}, "levels": [{"name": {"env": "SHOP_KEY"}}]}
    made = make(config)
    assert (made.headers, made.levels[0].name) == ({"authorization": "s"}, "s")
    assert config["headers"] == {"authorization": {"env": "SHOP_KEY"}}, "what is written stays as it is"


def test_an_object_with_a_field_called_env_is_no_secret() -> None:
    def create(options: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        return options

    assert Settings.of(create).make({"options": {"a": {"env": "PATH"}}}) == {"a": {"env": "PATH"}}


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ({"env": "NOT_SET_ANYWHERE"}, "the variable NOT_SET_ANYWHERE is not set: export NOT_SET_ANYWHERE=..."),
        ({"file": "missing.txt"}, "missing.txt cannot be read: No such file"),
        ({"file": "empty.txt"}, "empty.txt is empty"),
        ({"file": "bytes.bin"}, "bytes.bin cannot be read: it is not UTF-8"),
        ({"file": "a\0b"}, "cannot be read: embedded null"),
        ({"vault": "x"}, "'vault' is no known kind of secret: write { env = "),
    ],
)
def test_a_secret_that_is_not_there_is_told_at_its_place(tmp_path: Path, reference: Any, told: str) -> None:
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\xfe\x00")
    assert told in problems({"limit": 1, "key": reference}, base=tmp_path)["key"]
    assert (
        told in problems({"limit": 1, "levels": [{"name": "a", "token": reference}]}, base=tmp_path)["levels.0.token"]
    )


@pytest.mark.parametrize("written", [{"env": "A", "file": "b"}, {"env": 5}, {}, {"env": ""}])
def test_a_secret_that_is_written_otherwise_says_how_it_is_written(written: Any) -> None:
    told = problems({"limit": 1, "key": written})
    assert told == {"key": 'a secret is a table of one key with a text: write { env = "NAME" } or { file = "path" }'}


def test_a_secret_written_as_text_is_refused_in_a_file_and_its_text_is_not_told() -> None:
    told = problems({"limit": 1, "key": "sk-123", "levels": [{"name": "a", "token": "sk-456"}]}, from_file=True)
    assert set(told) == {"key", "levels.0.token"}
    assert "a secret is never written as text" in told["key"]
    assert "sk-" not in str(told)
    assert make({"limit": 1, "key": SecretStr("sk-123")}).key.get_secret_value() == "sk-123"


def test_a_model_that_the_plugin_makes_of_a_secret_and_that_refuses_it_does_not_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Account(BaseModel):
        token: str = Field(min_length=99)

    def connect(token: str) -> Any:
        return Account(token=token)

    monkeypatch.setenv("SHOP_KEY", "sk-123")
    with pytest.raises(SettingsError, match="connect: token: String should have at least 99") as caught:
        Settings.of(connect).make({"token": {"env": "SHOP_KEY"}})
    assert "sk-123" not in "".join(traceback.format_exception(caught.value))


class Plain(BaseModel):
    key: str


class Hidden(BaseModel):
    key: SecretStr


@pytest.mark.parametrize(
    ("hint", "written", "place"),
    [
        (tuple[str, SecretStr], ["a", "sk-1"], "given.1"),
        (tuple[SecretStr, ...], ["sk-1"], "given.0"),
        (dict[str, list[SecretStr]], {"a": ["sk-1"]}, "given.a.0"),
        (dict[Annotated[str, Field(pattern="^x-")], SecretStr], {"x-a": "sk-1"}, "given.x-a"),
        (Plain | Hidden, {"key": "sk-1"}, "given.key"),
        (list[Plain | Hidden] | None, [{"key": "sk-1"}], "given.0.key"),
    ],
)
def test_a_secret_is_known_wherever_it_stands(
    hint: Any, written: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(given: Any) -> dict[str, Any]:
        return {"given": given}

    def referring(value: Any) -> Any:
        match value:
            case dict():
                return {key: referring(each) for key, each in value.items()}
            case list():
                return [referring(each) for each in value]
            case _:
                return {"env": "SHOP_KEY"} if value == "sk-1" else value

    monkeypatch.setenv("SHOP_KEY", "found")
    keep.__annotations__["given"] = hint
    assert list(problems({"given": written}, keep, from_file=True)) == [place]
    assert Settings(keep).make({"given": referring(written)}, from_file=True)["given"]


def test_a_schema_of_ones_own_may_name_several_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(key: Annotated[Any, WithJsonSchema({"type": ["string", "null"]})] = None) -> list[Any]:
        return [key]

    monkeypatch.setenv("SHOP_KEY", "found")
    assert Settings.of(keep).make({"key": {"env": "SHOP_KEY"}}) == ["found"]


def test_another_resolver_knows_other_kinds() -> None:
    def vault(reference: str) -> str | None:
        return "found" if reference == "vault:shop/key" else resolve_secret(reference)

    assert make({"limit": 1, "key": {"vault": "shop/key"}}, secrets=vault).key.get_secret_value() == "found"


def test_a_resolver_is_asked_for_references_alone() -> None:
    with pytest.raises(SecretError, match="export NOT_SET_ANYWHERE"):
        resolve_secret("env:NOT_SET_ANYWHERE")
    assert resolve_secret("keyring:shop/key") is None
