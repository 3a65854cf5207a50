"""The registry: what is installed, whether it may be used, from a name to an object. Real metadata, real imports."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import importlib_metadata
import pytest

from agent_express import Agent, AgentContext, Middleware, ModelContext, ModelResponse, Next, distributions
from agent_express.errors import (
    AmbiguousPluginError,
    BlockedPluginError,
    BrokenPluginError,
    IncompatiblePluginError,
    ManifestError,
    PluginError,
    SettingsError,
    UnknownPluginError,
)
from agent_express.origins import origin_of
from agent_express.plugins import Plugin, PluginState, Policy
from agent_express.registry import Registry
from agent_express.testing import ScriptedModel
from agent_express.testing.distributions import write_distribution

BACKENDS: list[Any] = [importlib_metadata]
if sys.version_info >= (3, 13):  # before, Distribution.origin is missing
    BACKENDS.append(importlib.metadata)

BUDGET = """
from typing import Annotated, Literal
from pydantic import Field

class Budget:
    '''Stop at a limit.

    Args:
        limit: Tokens; at least 1.
    '''

    name = "budget"

    def __init__(self, limit: Annotated[int, Field(ge=1)], per: Literal["turn", "session"] = "turn") -> None:
        self.limit, self.per = limit, per

    async def init(self, ctx):
        self.seen = ctx.config

    async def model(self, ctx, next):
        return await next()
"""


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.__name__)
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, on the path, read by one of the two libraries; nothing else is seen."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.setattr(distributions, "metadata", request.param)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def registry_of(site: Path, **options: Any) -> Registry:
    return Registry(path=[str(site)], environ=options.pop("environ", {}), **options)


def install(site: Path, name: str = "agent-express-guards", **given: Any) -> Path:
    """Install a package with one middleware, `guards.budget`, unless something else is given."""
    module = name.replace("-", "_")
    given.setdefault("entry_points", {"middleware": {"guards.budget": f"{module}:Budget"}})
    given.setdefault("modules", {f"{module}/__init__.py": BUDGET})
    return write_distribution(site, name, **given)


# --- finding ------------------------------------------------------------------------------------


def test_what_is_installed_is_listed_and_nothing_of_it_is_imported(site: Path) -> None:
    install(site, modules={"agent_express_guards/__init__.py": "raise SystemExit('imported')"})
    (plugin,) = registry_of(site).plugins()
    assert plugin == Plugin(
        "guards.budget", "middleware", "agent_express_guards:Budget", "agent-express-guards", "1.0.0"
    )
    assert (plugin.state, plugin.reason, plugin.area) == ("available", "", "guards")
    assert "agent_express_guards" not in sys.modules


def test_a_name_gives_the_object_and_the_settings_it_was_made_from(site: Path) -> None:
    install(site)
    registry = registry_of(site)
    made = registry.create("guards.budget", {"limit": 3})
    assert (made.limit, made.per) == (3, "turn")
    origin = origin_of(made)
    assert origin is not None
    assert origin.plugin is not None
    assert (origin.plugin.qualified, origin.config.limit) == ("agent-express-guards:guards.budget", 3)
    assert registry.plugins()[0].state is PluginState.LOADED
    assert registry.of(made) == registry.find("guards.budget")


async def test_init_is_shown_the_settings_its_middleware_was_made_from(site: Path) -> None:
    install(site)
    made = registry_of(site).create("guards.budget", {"limit": 3, "per": "session"})
    await Agent(ScriptedModel("hi")).use(made).run("hello")
    assert (made.seen.limit, made.seen.per) == (3, "session")


async def test_a_middleware_made_by_hand_has_no_such_settings_and_other_hooks_never_do() -> None:
    seen: list[Any] = []

    class Looks(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            seen.append(ctx.config)

        async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
            with pytest.raises(AttributeError, match="'config'; it is there in init"):
                _ = ctx.config
            return await next()

    await Agent(ScriptedModel("hi")).use(Looks()).run("hello")
    assert seen == [None]


def test_an_object_made_by_hand_belongs_to_the_plugin_of_its_class(site: Path) -> None:
    install(site)
    registry = registry_of(site)
    budget = importlib.import_module("agent_express_guards").Budget(3)
    found = registry.of(budget)
    assert found is not None
    assert found.name == "guards.budget"
    assert registry.of(object()) is None


def test_an_object_is_told_by_the_policy_of_whoever_is_asked_and_by_any_way_its_class_was_reached(site: Path) -> None:
    module = {"agent_express_guards/__init__.py": "from acme_inner import Budget\n", "acme_inner.py": BUDGET}
    install(site, modules=module)
    made = registry_of(site).create("guards.budget", {"limit": 3})
    by_hand = importlib.import_module("acme_inner").Budget(3)
    strict = registry_of(site, policy=Policy(block=("guards.*",)))
    for each in (made, by_hand, type(made)):
        found = strict.of(each)
        assert found is not None
        assert (found.name, found.state) == ("guards.budget", PluginState.BLOCKED)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("guards.bugdet", r"no middleware 'guards.bugdet' is installed; nearest: guards.budget \(agent-express-guards"),
        ("budget", r"nearest: guards.budget"),
        ("memory.episodic", "nor anything of its area: pip install agent-express-memory"),
        ("guards.zzz", "there are: guards.budget"),
        ("guards.starter", "'guards.starter' is a bundle of agent-express-guards"),
        ("agent-express-other:guards.budget", "nearest: guards.budget"),
    ],
)
def test_an_unknown_name_says_what_is_near_or_what_to_install(site: Path, asked: str, told: str) -> None:
    entries = {"middleware": {"guards.budget": "agent_express_guards:Budget"}, "bundles": {"guards.starter": "x:y"}}
    install(site, entry_points=entries)
    with pytest.raises(UnknownPluginError, match=told):
        registry_of(site).find(asked)


def test_a_group_that_is_none_is_refused(site: Path) -> None:
    with pytest.raises(PluginError, match="no group 'guards' of plugins; there are: middleware, models"):
        registry_of(site).plugins("guards")


def test_what_was_just_installed_is_listed_at_once_and_what_was_removed_is_not(site: Path, tmp_path: Path) -> None:
    registry = registry_of(site)
    assert registry.plugins() == ()
    info = install(site, editable=tmp_path / "source")
    assert [plugin.name for plugin in registry.plugins()] == ["guards.budget"]
    (info / "entry_points.txt").unlink()
    info.rename(site / "gone")
    assert registry.plugins() == ()


def test_one_scan_serves_until_something_changes(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site)
    registry = registry_of(site)
    first = registry.plugins()
    monkeypatch.setattr(distributions.metadata, "distributions", None)
    assert registry.plugins() == first


# --- several of one name ------------------------------------------------------------------------


def test_a_name_that_two_distributions_claim_must_be_qualified(site: Path) -> None:
    install(site)
    install(site, "acme-guards")
    registry = registry_of(site)
    assert {plugin.state for plugin in registry.plugins()} == {PluginState.AMBIGUOUS}
    for use in (registry.find, registry.create):
        with pytest.raises(AmbiguousPluginError, match=r"acme-guards:guards.budget or agent-express-guards:guards.bu"):
            use("guards.budget")
    made = registry.create("acme-guards:guards.budget", {"limit": 1})
    assert type(made).__module__ == "acme_guards"
    assert (
        type(registry.create("Agent_Express.Guards:guards.budget", {"limit": 1})).__module__ == "agent_express_guards"
    )


def test_a_plugin_handed_over_as_found_by_its_short_name_stays_ambiguous(site: Path) -> None:
    install(site)
    install(site, "acme-guards")
    registry = registry_of(site)
    with pytest.raises(AmbiguousPluginError):
        registry.load(registry.plugins()[0])


def test_of_one_distribution_installed_twice_the_first_on_the_path_counts(site: Path, tmp_path: Path) -> None:
    install(site, version="2.0.0")
    install(tmp_path / "old", version="1.0.0")
    (plugin,) = Registry(path=[str(site), str(tmp_path / "old")], environ={}).plugins()
    assert (plugin.version, plugin.state) == ("2.0.0", PluginState.AVAILABLE)


def test_a_rival_that_is_blocked_or_incompatible_makes_nothing_ambiguous(site: Path) -> None:
    install(site)
    install(site, "acme-guards", requires=["agent-express>=9"])
    registry = registry_of(site)
    assert registry.find("guards.budget").distribution == "agent-express-guards"


def test_blocking_one_of_two_rivals_settles_it(site: Path) -> None:
    install(site)
    install(site, "acme-guards")
    registry = registry_of(site, environ={"AGENT_EXPRESS_BLOCK": "acme-guards"})
    assert registry.create("guards.budget", {"limit": 1}).limit == 1


# --- the gate -----------------------------------------------------------------------------------


def test_a_plugin_for_another_core_is_refused_before_it_is_imported_and_names_the_requirement(site: Path) -> None:
    body = {"agent_express_guards/__init__.py": "raise SystemExit('imported')"}
    install(site, modules=body, requires=["pydantic>=2", "agent-express (>=7,<8) ; python_version > '3'"])
    registry = registry_of(site)
    assert registry.plugins()[0].state is PluginState.INCOMPATIBLE
    with pytest.raises(IncompatiblePluginError, match=r"requires agent-express>=7,<8, installed is .*: pip install"):
        registry.create("guards.budget")


def test_what_an_extra_requires_keeps_nobody_out(site: Path) -> None:
    install(site, requires=["agent-express>=7; extra == 'next'", "agent-express[cli]>=0.0.1"])
    assert registry_of(site).plugins()[0].usable


def test_a_core_that_nobody_installed_has_no_version_that_keeps_plugins_out(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, requires=["agent-express>=7,<8"])
    with monkeypatch.context() as hidden:
        hidden.setattr(sys, "path", [str(site)])
        assert registry_of(site).plugins()[0].usable
    assert not registry_of(site).plugins()[0].usable, "and is not remembered"


def test_a_plugin_for_another_contract_is_refused_before_it_is_imported(site: Path) -> None:
    body = {"agent_express_guards/__init__.py": "raise SystemExit('imported')"}
    for contract, do in (
        (0, "pip install --upgrade agent-express-guards"),
        (2, "pip install --upgrade agent-express$"),
    ):
        info = install(site, modules=body, manifest={"contract": contract, "entries": {}}, version=f"{contract}.1")
        with pytest.raises(IncompatiblePluginError, match=rf"built for contract {contract}, .* has contract 1: {do}"):
            registry_of(site).create("guards.budget")
        for file in info.iterdir():
            file.unlink()
        info.rmdir()


# --- isolation ----------------------------------------------------------------------------------

BROKEN = {
    "an error": ("boom = 1 / 0", "ZeroDivisionError: division by zero"),
    "SystemExit": ("raise SystemExit(3)", "SystemExit: 3"),
    "syntax": ("def (:", "SyntaxError"),
    "a missing package": ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
    "a missing name": ("", "has no 'Budget'"),
    "a missing package, asked for late": ("def __getattr__(name): import nowhere_to_be_found", "No module named 'now"),
    "its own recursion": ("def f(): f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_plugin_that_breaks_is_reported_and_breaks_nobody_else(site: Path, kind: str) -> None:
    source, told = BROKEN[kind]
    install(site)
    bad = {"middleware": {"acme.bad": "acme_bad:Budget"}}
    install(site, "acme-bad", entry_points=bad, modules={"acme_bad/__init__.py": source})
    registry = registry_of(site)
    for _ in range(2):  # it is not tried again
        with pytest.raises(BrokenPluginError, match=f"acme.bad .acme-bad 1.0.0. is broken: .*{told}") as caught:
            registry.load("acme.bad")
        assert caught.value.__cause__ is registry.failure(registry.find("acme.bad"))
    states = {plugin.name: plugin.state for plugin in registry.plugins()}
    assert states == {"acme.bad": PluginState.FAILED, "guards.budget": PluginState.AVAILABLE}
    assert registry.create("guards.budget", {"limit": 1}).limit == 1


def test_a_factory_that_fails_is_told_with_its_place_and_stays_usable(site: Path) -> None:
    source = "def make(good: bool = True):\n    return object() if good else {}['missing']\n"
    entries = {"middleware": {"acme.made": "acme_made:make"}}
    install(site, "acme-made", entry_points=entries, modules={"acme_made/__init__.py": source})
    registry = registry_of(site)
    with pytest.raises(BrokenPluginError, match=r"acme.made: calling make\(\) failed at __init__.py, line 2: KeyError"):
        registry.create("acme.made", {"good": False})
    assert registry.create("acme.made") is not None


def test_a_line_of_entry_points_that_makes_no_sense_harms_no_other(site: Path) -> None:
    info = install(site)
    text = (info / "entry_points.txt").read_text(encoding="utf-8")
    odd = "; a comment\nno equals sign\n\n[agent_express.unheard_of]\nx = y:z\n[console_scripts]\ncmd = a:b\n"
    (info / "entry_points.txt").write_text(text + odd, encoding="utf-8")
    assert [plugin.name for plugin in registry_of(site).plugins()] == ["guards.budget"]


def test_a_distribution_without_metadata_is_listed_under_no_name_and_breaks_nothing(site: Path) -> None:
    info = install(site, "acme-torn")
    (info / "METADATA").unlink()
    install(site, entry_points={"middleware": {"guards.other": "agent_express_guards:Budget"}})
    assert {plugin.name for plugin in registry_of(site).plugins()} == {"guards.budget", "guards.other"}


@pytest.mark.parametrize("file", ["METADATA", "entry_points.txt"])
def test_metadata_in_another_encoding_hides_no_other_package(site: Path, file: str) -> None:
    install(site)
    info = install(site, "acme-guards", entry_points={"middleware": {"acme.budget": "acme_guards:Budget"}})
    (info / file).write_bytes((info / file).read_bytes() + "Author: Jérôme\n".encode("latin-1"))
    plugins = registry_of(site).plugins()
    assert [(each.name, each.distribution) for each in plugins] == [
        ("acme.budget", "acme-guards"),
        ("guards.budget", "agent-express-guards"),
    ]


@pytest.mark.parametrize("content", [b"{", b"\xff", b""])
def test_where_a_plugin_comes_from_is_unknown_where_that_cannot_be_read(site: Path, content: bytes) -> None:
    info = install(site)
    (info / "direct_url.json").write_bytes(content)
    registry = registry_of(site)
    assert registry.provenance(registry.find("guards.budget")).origin in ("unknown", "wheel")


def test_a_plugin_that_was_removed_meanwhile_comes_from_nowhere(site: Path) -> None:
    info = install(site)
    registry = registry_of(site)
    plugin = registry.find("guards.budget")
    info.rename(site / "gone")
    with pytest.raises(UnknownPluginError, match="agent-express-guards is not installed: pip install agent-express-g"):
        registry.provenance(plugin)


def test_a_manifest_that_cannot_be_read_is_told_where_it_is_asked_for(site: Path) -> None:
    install(site)
    (site / "agent_express_guards" / "agent_express.json").write_text("{", encoding="utf-8")
    registry = registry_of(site)
    (plugin,) = registry.plugins()
    assert plugin.usable
    with pytest.raises(ManifestError, match=r"agent_express.json: is no JSON"):
        registry.manifest(plugin)


# --- policy -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", ["guards.*", "agent-express-guards", "*:guards.budget", "GUARDS.BUDGET", "x, *.budget"]
)
def test_what_the_environment_blocks_is_never_imported(site: Path, pattern: str) -> None:
    install(site, modules={"agent_express_guards/__init__.py": "raise SystemExit('imported')"})
    registry = registry_of(site, environ={"AGENT_EXPRESS_BLOCK": pattern})
    assert registry.plugins()[0].state is PluginState.BLOCKED
    with pytest.raises(BlockedPluginError, match=r"guards.budget is blocked by .* in AGENT_EXPRESS_BLOCK"):
        registry.create("guards.budget", {"limit": 1})


@pytest.mark.parametrize(
    "pattern", ["acme-guards", "acme_guards", "ACME.Guards:guards.*", "acme-*", "acme_g*", "Acme*"]
)
def test_a_distribution_is_blocked_in_any_spelling_of_its_name(site: Path, pattern: str) -> None:
    install(site, "Acme_Guards", modules={"Acme_Guards/__init__.py": BUDGET})
    assert registry_of(site, environ={"AGENT_EXPRESS_BLOCK": pattern}).plugins()[0].state is PluginState.BLOCKED


def test_a_pattern_of_plugins_is_none_of_distributions(site: Path) -> None:
    install(site, "guards-extra", entry_points={"middleware": {"extra.budget": "guards_extra:Budget"}})
    registry = registry_of(site, environ={"AGENT_EXPRESS_ALLOW": "guards.*"})
    assert registry.plugins()[0].state is PluginState.BLOCKED


def test_where_something_is_allowed_nothing_else_is(site: Path) -> None:
    install(site)
    registry = registry_of(site, environ={"AGENT_EXPRESS_ALLOW": "memory.*,calls.retry"})
    with pytest.raises(BlockedPluginError, match=r"AGENT_EXPRESS_ALLOW names only memory.\*, calls.retry"):
        registry.create("guards.budget", {"limit": 1})


def test_a_stack_can_forbid_more_than_the_environment_and_allow_no_more(site: Path) -> None:
    install(site)
    stack = Policy(allow=("guards.budget",), origin="agent.toml")
    assert registry_of(site).with_policy(stack).find("guards.budget").usable
    blocked = registry_of(site, environ={"AGENT_EXPRESS_BLOCK": "guards.*"}).with_policy(stack)
    assert blocked.find("guards.budget").state is PluginState.BLOCKED
    none = registry_of(site).with_policy(Policy(block=("*",), origin="agent.toml"))
    with pytest.raises(BlockedPluginError, match=r"blocked by '\*' in block of agent.toml"):
        none.load("guards.budget")


def test_strict_makes_a_broken_plugin_everybodys_error(site: Path) -> None:
    install(site)
    install(site, "acme-old", entry_points={"middleware": {"acme.old": "x:y"}}, requires=["agent-express>=7"])
    for registry in (
        registry_of(site, environ={"AGENT_EXPRESS_STRICT": "1"}),
        registry_of(site, policy=Policy(strict=True)),
    ):
        with pytest.raises(PluginError, match=r"every plugin must be usable: acme-old 1.0.0 requires agent-express>=7"):
            registry.create("guards.budget", {"limit": 1})
    assert registry_of(site, environ={"AGENT_EXPRESS_STRICT": "0"}).find("guards.budget").usable


def test_strict_that_is_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(PluginError, match="AGENT_EXPRESS_STRICT is 'maybe', expected 1 or 0"):
        Registry(environ={"AGENT_EXPRESS_STRICT": "maybe"})


def test_whoever_watches_is_told_of_each_change(site: Path) -> None:
    install(site)
    install(site, "acme-bad", entry_points={"middleware": {"acme.bad": "acme_bad:Bad"}}, modules={"acme_bad.py": "1/0"})
    registry = registry_of(site)
    seen: list[tuple[str, str]] = []
    registry.watch(lambda plugin: seen.append((plugin.name, plugin.state)))
    registry.create("guards.budget", {"limit": 1})
    registry.create("guards.budget", {"limit": 2})
    with pytest.raises(BrokenPluginError):
        registry.load("acme.bad")
    assert seen == [("guards.budget", "loaded"), ("acme.bad", "failed")]


def test_what_an_import_does_to_the_path_makes_nobody_forget_what_was_loaded_and_what_failed(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # a `__pycache__` beside a module changes its folder
    extends = f"import sys\nsys.path.append({str(site / 'more')!r})\n"
    sources = {"acme_a": BUDGET, "acme_b": "1/0", "acme_c": extends + BUDGET, "acme_d": extends + "1/0"}
    for name, source in sources.items():
        entries = {"middleware": {f"{name}.budget": f"{name}:Budget"}}
        install(site, name, entry_points=entries, modules={f"{name}.py": source})
    registry = Registry(environ={})
    registry.watch(lambda _: registry.plugins() and None)  # whoever is told looks at all of them
    for name in ("acme_a", "acme_c"):
        assert registry.load(f"{name}.budget") is registry.load(f"{name}.budget")
    for name in ("acme_b", "acme_d"):
        with pytest.raises(BrokenPluginError, match="ZeroDivisionError"):
            registry.load(f"{name}.budget")
    states = {plugin.name: plugin.state.value for plugin in registry.plugins() if plugin.distribution in sources}
    assert states == {
        "acme_a.budget": "loaded", "acme_b.budget": "failed", "acme_c.budget": "loaded", "acme_d.budget": "failed",
    }  # fmt: skip


def test_a_new_package_gives_what_failed_another_chance_and_leaves_what_was_loaded(site: Path) -> None:
    install(site)
    needs = {"acme_bad/__init__.py": f"import acme_missing\n{BUDGET}"}
    install(site, "acme-bad", entry_points={"middleware": {"acme.bad": "acme_bad:Budget"}}, modules=needs)
    registry = registry_of(site)
    registry.load("guards.budget")
    with pytest.raises(BrokenPluginError):
        registry.load("acme.bad")
    install(site, "acme-missing", entry_points={}, modules={"acme_missing/__init__.py": ""})
    assert registry.find("guards.budget").state is PluginState.LOADED
    assert registry.load("acme.bad").name == "budget"


def test_threads_that_load_one_plugin_at_once_get_one_factory_and_whoever_watches_is_told_once(site: Path) -> None:
    install(site)
    registry, barrier = registry_of(site), threading.Barrier(8)
    seen: list[Plugin] = []
    registry.watch(seen.append)

    def load(_: int) -> Any:
        barrier.wait()
        return registry.load("guards.budget")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load, range(8)))
    assert len(set(found)) == len(seen) == 1


def test_a_plugin_that_asks_for_itself_while_it_is_imported_is_refused_there_and_loaded_in_the_end(site: Path) -> None:
    asks = """
from agent_express.registry import Registry
try:
    Registry.in_the_test.load("guards.budget")
except Exception as error:
    refused = error
"""
    install(site, modules={"agent_express_guards/__init__.py": asks + BUDGET})
    registry = registry_of(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "in_the_test", registry, raising=False)
        registry.load("guards.budget")
    assert isinstance(sys.modules["agent_express_guards"].refused, BrokenPluginError)
    plugin = registry.find("guards.budget")
    assert (plugin.state, registry.failure(plugin)) == (PluginState.LOADED, None)


def test_an_interrupt_while_a_plugin_is_imported_is_no_failure_of_the_plugin(site: Path) -> None:
    install(site, modules={"agent_express_guards/__init__.py": "raise KeyboardInterrupt"})
    registry = registry_of(site)
    with pytest.raises(KeyboardInterrupt):
        registry.load("guards.budget")
    assert registry.find("guards.budget").state is PluginState.AVAILABLE


# --- provenance and manifest --------------------------------------------------------------------


def test_it_is_known_where_a_plugin_comes_from(site: Path, tmp_path: Path) -> None:
    install(site)
    install(site, "acme-editable", editable=tmp_path / "source", entry_points={"middleware": {"acme.e": "acme_e:E"}})
    info = install(site, "acme-archive", entry_points={"middleware": {"acme.a": "acme_a:A"}})
    (info / "direct_url.json").write_text('{"url": "file:///a.whl", "archive_info": {}}', encoding="utf-8")
    info = install(site, "acme-vcs", entry_points={"middleware": {"acme.v": "acme_v:V"}})
    vcs = '{"url": "https://example.org/v.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}'
    (info / "direct_url.json").write_text(vcs, encoding="utf-8")
    registry = registry_of(site)
    found = {plugin.name: registry.provenance(plugin) for plugin in registry.plugins()}
    origins = {name: each.origin for name, each in found.items()}
    assert origins == {"guards.budget": "wheel", "acme.e": "editable", "acme.a": "archive", "acme.v": "repository"}
    assert found["acme.e"].location == (tmp_path / "source").as_uri()
    assert Path(found["guards.budget"].location) == site


@pytest.mark.parametrize("editable", [False, True])
def test_a_manifest_is_read_without_an_import_wherever_the_package_lies(
    site: Path, tmp_path: Path, editable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"group": "middleware", "summary": "Stop at a limit.", "hooks": ["model"], "roles": ["budget"]}
    source = tmp_path / "source" if editable else None
    manifest = {"contract": 1, "entries": {"guards.budget": entry}}
    install(site, manifest=manifest, editable=source, modules={"agent_express_guards/__init__.py": "1 / 0"})
    if editable:
        monkeypatch.syspath_prepend(str(source))  # what the .pth file does when Python starts
    registry = registry_of(site)
    told = registry.manifest(registry.find("guards.budget"))
    assert told is not None
    assert (told.summary, told.hooks, told.roles, told.stability) == (
        "Stop at a limit.",
        ("model",),
        ("budget",),
        "alpha",
    )


def test_a_fresh_process_lists_an_editable_install_and_imports_no_plugin(tmp_path: Path) -> None:
    """As Python itself sees it: a .pth file in a site folder, and no path of ours."""
    site = tmp_path / "site"
    write_distribution(
        site,
        "acme-editable",
        entry_points={"middleware": {"acme.e": "acme_e:E"}},
        modules={"acme_e/__init__.py": "raise SystemExit('imported')"},
        manifest={"contract": 1, "entries": {"acme.e": {"group": "middleware", "summary": "Found."}}},
        editable=tmp_path / "source",
    )
    script = f"""
        import site, sys
        site.addsitedir({str(site)!r})
        from agent_express.registry import registry
        (plugin,) = [each for each in registry().plugins() if each.name == "acme.e"]
        print(registry().manifest(plugin).summary, registry().provenance(plugin).origin, "acme_e" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env=os.environ,
    )
    assert done.stdout.split() == ["Found.", "editable", "False"]


# --- settings, through the registry -------------------------------------------------------------


def test_settings_that_do_not_fit_are_told_all_at_once(site: Path) -> None:
    install(site)
    with pytest.raises(SettingsError) as caught:
        registry_of(site).create("guards.budget", {"limit": 0, "pre": "turn"})
    told = {".".join(map(str, problem.path)): problem.message for problem in caught.value.problems}
    assert told == {"limit": "Input should be greater than or equal to 1", "pre": "no such setting; meant 'per'?"}
    assert str(caught.value).startswith("guards.budget: ")


def test_a_setting_that_is_missing_says_what_it_is_for(site: Path) -> None:
    install(site)
    with pytest.raises(SettingsError, match=r"guards.budget: limit: this setting is required: Tokens; at least 1\."):
        registry_of(site).create("guards.budget")


# --- what a hostile reader found ----------------------------------------------------------------


def test_an_object_belongs_to_the_plugin_that_is_its_class_before_one_that_makes_such(site: Path) -> None:
    source = BUDGET + "\n\ndef preset() -> Budget:\n    return Budget(1)\n"
    entries = {
        "middleware": {"guards.a-preset": "agent_express_guards:preset", "guards.budget": "agent_express_guards:Budget"}
    }
    entry = {"group": "middleware", "module": "agent_express_guards:Budget"}
    install(
        site,
        entry_points=entries,
        modules={"agent_express_guards/__init__.py": source},
        manifest={"contract": 1, "entries": {"guards.a-preset": entry, "guards.budget": entry}},
    )
    registry = registry_of(site)
    registry.load("guards.budget")
    found = registry.of(importlib.import_module("agent_express_guards").Budget(3))
    assert found is not None
    assert found.name == "guards.budget"


def test_a_plugin_of_the_command_line_may_be_a_module(site: Path) -> None:
    install(site, entry_points={"hooks": {"guards.host": "agent_express_guards"}})
    assert registry_of(site).load("guards.host", "hooks").__name__ == "agent_express_guards"


def test_behind_a_distribution_only_what_it_offers_is_named(site: Path) -> None:
    install(site)
    install(site, "acme-other", entry_points={"middleware": {"acme.x": "x:y", "acme.z": "x:z"}})
    with pytest.raises(UnknownPluginError, match=r"'acme-other:guards.zzz' is installed; there are: acme.x, acme.z$"):
        registry_of(site).find("acme-other:guards.zzz")


def test_a_manifest_with_a_word_that_means_nothing_is_told(site: Path) -> None:
    entry = {"group": "middleware", "stability": "shiny"}
    install(site, manifest={"contract": 1, "entries": {"guards.budget": entry}})
    registry = registry_of(site)
    with pytest.raises(ManifestError, match=r"guards.budget: stability must be one of alpha, beta, stable, found 'shi"):
        registry.manifest(registry.find("guards.budget"))
