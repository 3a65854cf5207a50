"""The host of the plugins of the command line: real distributions, real pluggy, and plugins that break."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from agent_express.errors import PluginError, SecretError, UnknownModelError
from agent_express.registry import Registry
from agent_express_cli import Check, hookimpl
from agent_express_cli.exits import CommandError
from agent_express_cli.hosting.hookspecs import NAMES
from agent_express_cli.hosting.host import Host

HEAD = "from agent_express_cli import Case, Check, hookimpl\n"


def plugin(signature: str, *body: str, mark: str = "@hookimpl", head: str = "") -> str:
    """The source of a plugin of one hook: `plugin("doctor(self)", "return []")`."""
    lines = "".join(f"        {line}\n" for line in body)
    return f"{HEAD}{head}\nclass It:\n    {mark}\n    def {signature}:\n{lines}"


def secret(body: str, **options: str) -> str:
    return plugin("resolve_secret(self, ref)", body, **options)


DOCTOR = plugin("doctor(self)", "return [Check('it', 'ok', 'it is well')]")


def host(environ: dict[str, str] | None = None) -> Host:
    return Host(Registry(environ=environ or {}))


def test_the_hooks_are_those_that_are_promised() -> None:
    assert NAMES == (
        "add_commands",
        "resolve_model",
        "resolve_secret",
        "load_stack",
        "check_stack",
        "doctor",
        "plugin_state_changed",
        "conformance_cases",
    )


def test_an_installed_plugin_is_asked_beside_the_built_in_ones(site: Any) -> None:
    site.add("acme.audit", DOCTOR)
    asked = host()
    checks = asked.doctor()
    assert Check("it", "ok", "it is well") in checks
    assert "python" in [check.name for check in checks]
    assert asked.problems == []


def test_a_module_or_an_object_is_a_plugin_too(site: Any) -> None:
    site.add("acme.object", f"{DOCTOR}\nthing = It()", target="acme_object:thing")
    assert Check("it", "ok", "it is well") in host().doctor()


def test_what_the_command_line_does_itself_is_a_plugin_like_any_other() -> None:
    blocked = host({"AGENT_EXPRESS_BLOCK": "cli.secrets"})
    assert host().resolve_secret("env:PATH")
    assert blocked.resolve_secret("env:PATH") is None
    assert blocked.problems == []  # who blocks it knows it


def test_a_plugin_that_only_implements_other_hooks_is_not_imported(site: Any) -> None:
    site.add("acme.audit", DOCTOR, entry={"implements": ["doctor"]})
    asked = host()
    asked.resolve_secret("env:PATH")
    assert "acme_audit" not in sys.modules
    asked.doctor()
    assert "acme_audit" in sys.modules


BROKEN = {
    "raises": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "does not parse": ("def (", "SyntaxError"),
    "imports what is missing": ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
    "holds no such class": ("Its = 1", "acme_bad has no 'It'; was 'Its' meant?"),
    "implements nothing": ("class It: ...", "it implements no hook: mark its functions with `hookimpl`"),
    "cannot be made": (f"{DOCTOR}    def __init__(self, path): ...", "missing 1 required positional argument"),
    "has a hook that does not exist": (
        plugin("doctr(self)", "return None"),
        "it implements the hook 'doctr', which does not exist; was 'doctor' meant?",
    ),
    "has a hook of no likeness": (
        plugin("zzz(self)", "return None"),
        "it implements the hook 'zzz', which does not exist; there are: add_commands, resolve_model,",
    ),
    "wraps a hook": (plugin("doctor(self)", "yield", mark="@hookimpl(wrapper=True)"), "it wraps the hook 'doctor'"),
    "asks for what no hook gives": (plugin("doctor(self, folder)", "return None"), "Argument(s) {'folder'}"),
    "raises when asked": (plugin("doctor(self)", "1 / 0"), "doctor failed: ZeroDivisionError"),
    "exits when asked": (
        plugin("doctor(self)", "raise SystemExit(1)"),
        "doctor failed: SystemExit: 1",
    ),
    "is async": (DOCTOR.replace("    def ", "    async def "), "doctor failed: TypeError: it is async"),
    "answers with something else": (plugin("doctor(self)", "return 'well'"), "doctor returned a str"),
    "lists something else": (plugin("doctor(self)", "return ['well']"), "expected a list of Check"),
}


@pytest.mark.parametrize(("source", "said"), list(BROKEN.values()), ids=list(BROKEN))
def test_a_plugin_that_breaks_is_named_and_left_out_and_the_others_are_heard(site: Any, source: str, said: str) -> None:
    site.add("acme.bad", source)
    site.add("acme.good", DOCTOR)
    told: list[str] = []
    asked = Host(Registry(environ={}), told.append)
    checks = asked.doctor()
    assert Check("it", "ok", "it is well") in checks
    (problem,) = told
    assert problem.startswith("plugin acme.bad (acme-bad 1.0.0) is left out: ")
    assert said in problem
    assert "\n" not in problem
    assert [check.status for check in checks if check.name == "plugin acme.bad (acme-bad 1.0.0)"] == ["fail"]


def test_where_the_policy_is_strict_a_broken_plugin_is_everybodys_error(site: Any) -> None:
    site.add("acme.old", DOCTOR, requires=["agent-express<0.0.1"])
    with pytest.raises(PluginError, match="every plugin must be usable"):
        host({"AGENT_EXPRESS_STRICT": "1"}).resolve_secret("env:PATH")


# --- the hooks that look for one thing -------------------------------------------------------------


def test_the_first_answer_counts_and_none_means_ask_the_next(site: Any) -> None:
    site.add("acme.a", secret("return None"))
    site.add(
        "acme.vault",
        secret("return ref[6:] if ref[:6] == 'vault:' else None"),
    )
    assert host().resolve_secret("vault:key") == "key"
    assert host().resolve_secret("safe:key") is None


def test_a_plugin_that_fails_does_not_keep_the_next_from_answering(site: Any) -> None:
    site.add("acme.a", secret("raise OSError('no vault')", mark="@hookimpl(tryfirst=True)"))
    site.add("acme.b", secret("return 'open'"))
    asked = host()
    assert asked.resolve_secret("vault:key") == "open"
    assert [problem.message for problem in asked.problems] == ["resolve_secret failed: OSError: no vault"]


def test_what_is_wrong_with_a_thing_that_a_plugin_knows_is_an_answer(site: Any) -> None:
    head = "from agent_express.errors import SecretError"
    site.add("acme.vault", secret("raise SecretError(ref + ' is gone')", head=head))
    asked = host()
    with pytest.raises(SecretError, match="is gone"):
        asked.resolve_secret("vault:key")
    assert asked.problems == []


def test_a_secret_that_is_no_text_is_no_secret(site: Any) -> None:
    site.add("acme.vault", secret("return 7"))
    asked = host()
    assert asked.resolve_secret("vault:key") is None
    assert [problem.message for problem in asked.problems] == ["resolve_secret returned an int, expected str"]


def test_a_plugin_names_models(site: Any) -> None:
    made = "return FunctionModel(lambda request: 'fast') if name == 'fast' else None"
    head = "from agent_express.testing import FunctionModel"
    site.add("acme.models", plugin("resolve_model(self, name)", made, head=head))
    assert host().resolve_model("fast").name
    assert host().resolve_model("offline:commands").name == "offline:commands"
    with pytest.raises(UnknownModelError, match="no model provider 'slow'"):
        host().resolve_model("slow")


def test_what_is_no_model_is_refused(site: Any) -> None:
    site.add("acme.models", plugin("resolve_model(self, name)", "return 7"))
    with pytest.raises(CommandError, match="fast is an int, expected a model"):
        host().resolve_model("fast")


def test_a_plugin_loads_stacks_of_another_kind(site: Any) -> None:
    made = "return Agent('offline:commands', name=profile) if path.endswith('.list') and secrets('env:PATH') else None"
    head = "from agent_express import Agent"
    site.add("acme.lists", plugin("load_stack(self, path, profile, secrets)", made, head=head))
    loaded = host().load_stack("agents.list", profile="dev")
    assert getattr(loaded, "name", "") == "dev"


def test_where_no_plugin_can_answer_the_one_that_failed_is_named(site: Any) -> None:
    site.add("acme.lists", plugin("load_stack(self, path)", "raise OSError('disk')", mark="@hookimpl(tryfirst=True)"))
    file = site.folder / "agents.list"
    file.write_text("", encoding="utf-8")
    with pytest.raises(
        CommandError, match=r"nothing here loads the stack .*agents\.list: .* acme\.lists .* failed: OSError: disk"
    ):
        host().load_stack(str(file))


# --- the hooks that are told or asked by all -------------------------------------------------------


def test_a_change_of_a_plugin_is_told_to_those_who_listen(site: Any) -> None:
    site.add("acme.bad", "raise RuntimeError('no')", group="middleware")
    site.add("acme.good", "class It: ...", group="middleware")
    note = "SEEN.append((info.name, info.state.value))"
    site.add("acme.listener", plugin("plugin_state_changed(self, info)", note, head="SEEN = []"))
    registry = Registry(environ={})
    Host(registry)
    registry.load("acme.good")
    with pytest.raises(PluginError):
        registry.load("acme.bad")
    seen = sys.modules["acme_listener"].SEEN
    assert [each for each in seen if each[0] != "acme.listener"] == [("acme.good", "loaded"), ("acme.bad", "failed")]


def test_a_part_of_the_process_may_listen_without_being_installed(site: Any) -> None:
    site.add("acme.good", "class It: ...", group="middleware")
    seen: list[str] = []

    class Listener:
        @hookimpl
        def plugin_state_changed(self, info: Any) -> None:
            seen.append(f"{info.name} {info.state}")

    registry = Registry(environ={})
    Host(registry).register(Listener(), "listener")
    registry.load("acme.good")
    assert seen == ["acme.good loaded"]


def test_plugins_name_cases_for_the_conformance_kit(site: Any) -> None:
    cases = "return [Case('small', dict)] if info.name == 'acme.good' else []"
    site.add("acme.cases", plugin("conformance_cases(self, info)", cases))
    site.add("acme.good", "class It: ...", group="middleware")
    registry = Registry(environ={})
    (case,) = Host(registry).conformance_cases(registry.find("acme.good"))
    assert (case.name, case.make()) == ("small", {})


def test_every_plugin_may_find_fault_with_a_stack(site: Any) -> None:
    site.add("acme.a", plugin("check_stack(self, stack)", "return ['a: ' + stack]"))
    site.add("acme.b", plugin("check_stack(self, stack)", "return ['b: ' + stack]"))
    found: list[Any] = host().check_stack("the stack")  # type: ignore[arg-type]
    assert sorted(each for each in found if isinstance(each, str)) == ["a: the stack", "b: the stack"]


def test_a_secret_in_the_keyring_needs_its_package(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SecretError, match="pip install keyring"):
        host().resolve_secret("keyring:shop/bot")


def test_a_secret_comes_from_the_keyring(site: Any) -> None:
    source = (
        "def get_password(service, user):\n"
        "    if user == 'locked': raise LookupError('locked')\n"
        "    return {'bot': 'sk-1'}.get(user)\n"
    )
    (site.folder / "keyring.py").write_text(source, encoding="utf-8")
    assert host().resolve_secret("keyring:shop/bot") == "sk-1"
    with pytest.raises(SecretError, match="holds no password of 'cat' for 'shop': keyring set shop cat"):
        host().resolve_secret("keyring:shop/cat")
    with pytest.raises(SecretError, match="cannot be opened for keyring:shop/locked: LookupError: locked"):
        host().resolve_secret("keyring:shop/locked")
    with pytest.raises(SecretError, match="names no user"):
        host().resolve_secret("keyring:shop")
