"""The manifest: written from the code, read without it, and how the two are told apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agent_express import Event, Middleware, ModelContext, ModelResponse, Next, Order, ToolContext, private, scope, tool
from agent_express.describe import describe, describe_package, differences
from agent_express.errors import ManifestError, PluginError
from agent_express.manifest import parse_manifest, read_manifest
from agent_express.onion import Events
from agent_express.testing.distributions import write_distribution


class Spent(BaseModel):
    """What was spent."""

    tokens: int = Field(default=0, description="Tokens so far.")
    names: Annotated[list[str], scope("turn")] = []
    masks: Annotated[dict[str, str], private] = {}
    note: str | None = None


class BudgetWarned(Event, type="acme:budget-warned"):
    """Half of it is spent."""

    spent: int


class Budget(Middleware):
    """Stop a turn once its session has spent
    what it may.

    Args:
        limit: Tokens; at least 1.
    """

    state = Spent
    events = (BudgetWarned,)
    order = Order(outside=["calls.retry"], inside=["auth"])

    def __init__(self, limit: Annotated[int, Field(ge=1)]) -> None:
        self.limit = limit

    @tool
    async def left(self, ctx: ToolContext) -> int:
        """Tell how much is left.

        More words.
        """
        return self.limit

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            yield event


DECLARED = {"roles": ["budget"], "permissions": [], "stability": "beta", "example": {"limit": 10}}


def test_an_entry_says_what_the_code_is_and_keeps_what_its_author_declared() -> None:
    entry = describe("acme.budget", "middleware", Budget, DECLARED)
    assert {key: entry[key] for key in DECLARED} == DECLARED
    assert entry["summary"] == "Stop a turn once its session has spent what it may."
    assert (entry["hooks"], entry["streaming"], entry["module"]) == (["model"], True, f"{__name__}:Budget")
    assert entry["events"] == [{"name": "acme:budget-warned", "summary": "Half of it is spent."}]
    assert entry["tools"] == [{"name": "left", "summary": "Tell how much is left."}]
    assert entry["order"] == {"outside": ["calls.retry"], "inside": ["auth"]}
    assert entry["config"]["properties"]["limit"]["minimum"] == 1
    state = {field["name"]: (field["type"], field["scope"], field["private"]) for field in entry["state"]}
    assert state == {
        "tokens": ("integer", "session", False),
        "names": ("array", "turn", False),
        "masks": ("object", "session", True),
        "note": ("string | null", "session", False),
    }


def test_what_was_written_is_read_back() -> None:
    entry = describe("acme.budget", "middleware", Budget, DECLARED)
    read = parse_manifest(json.loads(json.dumps({"contract": 1, "entries": {"acme.budget": entry}})), "x")
    found = read.entries["acme.budget"]
    assert (found.hooks, found.streaming, found.roles, found.stability) == (("model",), True, ("budget",), "beta")
    assert found.order == Order(outside=("calls.retry",), inside=("auth",))
    assert [field.name for field in found.state] == ["tokens", "names", "masks", "note"]
    assert found.example == {"limit": 10}


def test_required_settings_need_an_example() -> None:
    with pytest.raises(ManifestError, match=r'acme.budget cannot be made without limit: put an "example"'):
        describe("acme.budget", "middleware", Budget)


def test_a_function_is_described_by_what_it_makes() -> None:
    def create(limit: int = 5) -> Budget:
        return Budget(limit)

    entry = describe("acme.budget", "middleware", create)
    assert entry["summary"] == "Stop a turn once its session has spent what it may."
    assert entry["module"] == f"{__name__}:Budget"


def test_a_bundle_says_which_layers_it_brings() -> None:
    def starter(limit: int = 5) -> list[Middleware]:
        """Begin with a budget."""
        return [Budget(limit)]

    entry = describe("acme.starter", "bundles", starter)
    assert (entry["layers"], entry["summary"]) == (["budget"], "Begin with a budget.")


def unresolved(limit: int = 5) -> Nowhere:  # type: ignore[name-defined] # noqa: F821
    return Budget(limit)


def test_a_return_type_that_only_a_type_checker_knows_is_no_accident() -> None:
    assert describe("acme.skill", "skills", unresolved)["summary"] == ""
    with pytest.raises(PluginError, match=r"acme.budget: unresolved: an annotation cannot be resolved: name 'Nowhere'"):
        describe("acme.budget", "middleware", unresolved)


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        (lambda *, none=True: [], "acme.x gives 0 middleware, expected one: publish it in the group bundles"),
        (5, "acme.x: int cannot be called with settings: "),
    ],
)
def test_what_gives_no_single_middleware_is_told_by_name(factory: Any, told: str) -> None:
    with pytest.raises(PluginError, match=told):
        describe("acme.x", "middleware", factory)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("hooks", ["turn"], 'hooks: the manifest says ["turn"], the code ["model"]'),
        ("streaming", False, "streaming: the manifest says nothing, the code true"),
        ("events", [], "events: the manifest says nothing, the code"),
        ("invented", 1, "invented: the manifest says 1, the code nothing"),
    ],
)
def test_a_manifest_that_does_not_tell_the_truth_is_told_key_by_key(key: str, value: Any, told: str) -> None:
    real = describe("acme.budget", "middleware", Budget, DECLARED)
    (found,) = differences({**real, key: value}, real)
    assert found.startswith(told)
    assert differences(real, real) == []


def test_what_is_empty_may_be_left_out() -> None:
    real = describe("acme.budget", "middleware", Budget, DECLARED)
    written = {key: value for key, value in real.items() if value not in ([], {}, False)}
    assert differences({**written, "adapters": []}, real) == []


# --- a whole package ----------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("acme_all", None)


SOURCE = """
class Quiet:
    '''Say nothing.'''
    async def turn(self, ctx, next):
        await next()

def create(name: str, *, url: str = "x"):
    '''Models of nobody.'''

class Host:
    '''A plugin of the command line.'''
"""


def test_a_package_is_described_entry_by_entry_in_order_of_their_names(site: Path) -> None:
    write_distribution(site, "acme-all", modules={"acme_all.py": SOURCE})
    points = {"middleware": {"acme.quiet": "acme_all:Quiet"}, "models": {"acme": "acme_all:create"}}
    points["hooks"] = {"acme": "acme_all:Host"} | {}
    points["hooks"] = {"acme-host": "acme_all:Host"}
    found = describe_package(points, {"contract": 1, "entries": {"acme.quiet": {"stability": "stable"}}})
    assert list(found["entries"]) == ["acme", "acme-host", "acme.quiet"]
    assert found["entries"]["acme.quiet"]["stability"] == "stable"
    assert found["entries"]["acme"]["config"]["properties"] == {"url": {"default": "x", "type": "string"}}
    assert "config" not in found["entries"]["acme-host"]


def test_a_package_that_cannot_be_described_says_which_entry(site: Path) -> None:
    write_distribution(site, "acme-all", modules={"acme_all.py": SOURCE})
    with pytest.raises(PluginError, match="acme_all:Nothing: acme_all has no 'Nothing'"):
        describe_package({"middleware": {"acme.x": "acme_all:Nothing"}})
    with pytest.raises(ManifestError, match="'acme' is published in two groups"):
        describe_package({"middleware": {"acme": "acme_all:Quiet"}, "models": {"acme": "acme_all:create"}})


# --- what is read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "expected an object with contract and entries, found a list"),
        ({}, "contract must be a whole number, found nothing"),
        ({"contract": True}, "contract must be a whole number"),
        ({"contract": 1, "entries": []}, "entries must be an object, found a list"),
        ({"contract": 1, "entries": {"a.b": 3}}, "a.b: expected an object, found the value 3"),
        ({"contract": 1, "entries": {"a.b": {"summary": 3}}}, "a.b: summary must be a text"),
        ({"contract": 1, "entries": {"a.b": {"hooks": "model"}}}, "a.b: hooks must be a list of texts, found a text"),
        ({"contract": 1, "entries": {"a.b": {"state": [{"type": "x"}]}}}, "a.b: each of state needs a name"),
        ({"contract": 1, "entries": {"a.b": {"order": {"outside": 1}}}}, "a.b: order: outside must be a list"),
    ],
)
def test_a_manifest_that_makes_no_sense_says_where(data: Any, told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        parse_manifest(data, "agent_express.json")


def test_a_manifest_that_is_nested_too_deep_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "agent_express.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ManifestError, match="nested too deep"):
        read_manifest(path)


def test_of_a_later_contract_only_the_number_is_read() -> None:
    assert parse_manifest({"contract": 7, "entries": "something else by then"}, "x").contract == 7


def test_a_byte_order_mark_does_no_harm_and_a_missing_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "agent_express.json"
    path.write_bytes(b'\xef\xbb\xbf{"contract": 1, "entries": {}}')
    assert read_manifest(path).contract == 1
    with pytest.raises(ManifestError, match="cannot be read: No such file"):
        read_manifest(tmp_path / "nothing.json")
