"""The kit as a class of tests, and as a run of pytest without a test file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packages.conformance.tests.stock import write_shop

from agent_express import Middleware, ModelContext, ModelResponse, Next
from agent_express.testing.distributions import write_distribution
from agent_express_conformance import CHECKS, ConformanceError, MiddlewareConformance


class Plain(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


class Twice(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        await next()
        return await next.again()


ANY_TIME = 1e9  # the machine's speed decides nothing here


class TestPlain(MiddlewareConformance):
    slowest = ANY_TIME

    def make(self) -> Plain:
        return Plain()


class TestTwiceAndSaysSo(MiddlewareConformance):
    next_many = ("model",)
    slowest = ANY_TIME

    def make(self) -> Twice:
        return Twice()


class Needy(MiddlewareConformance):
    __test__ = False

    def make(self) -> Twice:
        return Twice()


def test_a_class_without_an_entry_point_has_every_check_but_those_of_the_entry_point() -> None:
    tests = {name for name in dir(TestPlain) if name.startswith("test_") and getattr(TestPlain, name) is not None}
    assert tests == {check.test for check in CHECKS if not check.installed}


def test_a_test_fails_with_the_sentence_of_its_check() -> None:
    with pytest.raises(ConformanceError, match=r"Needy\.model ran what is further in 2 times"):
        Needy().test_it_calls_next_at_most_once()  # type: ignore[attr-defined]


def test_a_class_that_makes_nothing_says_what_to_write() -> None:
    class Empty(MiddlewareConformance):
        __test__ = False

    with pytest.raises(ConformanceError, match=r"Empty\.make\(\) must return a new object"):
        Empty().test_its_hooks_are_written_as_use_takes_them()  # type: ignore[attr-defined]
    with pytest.raises(ConformanceError, match="signatures has to pass first"):
        Empty().test_a_result_passes_through_it()  # type: ignore[attr-defined]


# --- pytest without a test file -------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop, and with a plugin that names a further form of its middleware."""
    folder = tmp_path_factory.mktemp("site")
    sys.path.insert(0, str(folder))
    try:
        write_shop(folder)
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] in ("agent_express_shop", "pandas")]:
            del sys.modules[name]
    entry = {"group": "middleware", "summary": "Pass on.", "hooks": ["turn"], "module": "agent_express_forms:Pass"}
    write_distribution(
        folder,
        "agent-express-forms",
        entry_points={"middleware": {"forms.pass": "agent_express_forms:Pass"}, "hooks": {"forms.cases": FORMS_CASES}},
        modules={"agent_express_forms/__init__.py": FORMS},
        manifest={"contract": 1, "entries": {"forms.pass": entry | {"config": CONFIG}}},
    )
    return folder


FORMS_CASES = "agent_express_forms:Cases"
CONFIG: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"loud": {"type": "boolean", "default": False}},
}
FORMS = '''
"""A middleware that is well-behaved in one form and not in another."""


class Pass:
    """Pass on."""

    name = "pass"

    def __init__(self, loud: bool = False) -> None:
        self.loud = loud

    async def turn(self, ctx, next) -> None:
        await next()
        if self.loud:
            ctx.output = ctx.output.text.upper()


class Case:
    def __init__(self, name, make):
        self.name, self.make = name, make


class Cases:
    """Name another form."""

    def conformance_cases(self, info):
        return [Case("loud", lambda: Pass(loud=True))] if info.name == "forms.pass" else []
'''


def run_pytest(site: Path, *options: str) -> tuple[int, list[str]]:
    """Run the kit in a fresh pytest; return its exit code and what it says, line by line."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--noconftest", "-v", "-rA", "--color=no", *options],
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "300", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


KIT = ("--pyargs", "agent_express_conformance")


def test_an_installed_middleware_is_checked_without_a_test_file(site: Path) -> None:
    code, lines = run_pytest(site, *KIT, "--middleware", "shop.retry")
    assert code == 0, "\n".join(lines)
    for check in CHECKS:
        [line] = [line for line in lines if f"::{check.test}[shop.retry]" in line and "%]" in line]
        assert (" XFAIL" if check.name == "own-time" else " PASSED") in line
    assert any("exempt: it waits before it tries again" in line for line in lines)


def test_a_flaw_fails_its_test_with_its_sentence(site: Path) -> None:
    code, lines = run_pytest(site, *KIT, "--middleware", "shop.leaves-a-task")
    assert code == 1
    failed = "".join(line for line in lines if line.startswith("FAILED"))
    assert "test_cancelled_at_any_await_it_leaves_nothing_behind[shop.leaves-a-task]" in failed
    assert any("does not tidy up: left behind: task" in line for line in lines)


def test_a_plugin_is_also_checked_in_the_further_forms_that_it_names(site: Path) -> None:
    code, lines = run_pytest(site, *KIT, "--middleware", "forms.pass")
    assert code == 1
    failed = "".join(line for line in lines if line.startswith("FAILED"))
    assert "test_a_result_passes_through_it[forms.pass, loud]" in failed
    assert "test_a_result_passes_through_it[forms.pass]" not in failed


def test_a_name_that_is_not_installed_is_told_with_what_is_near(site: Path) -> None:
    code, lines = run_pytest(site, *KIT, "--middleware", "shop.budgte")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert any("no middleware 'shop.budgte' is installed; nearest: shop.budget" in line for line in lines)


def test_a_run_that_names_nothing_says_what_to_name(site: Path) -> None:
    code, lines = run_pytest(site, *KIT)
    assert code != 0
    assert any("say what to check: --middleware" in line for line in lines)


def test_the_plugin_for_pytest_loads_nothing_of_the_kit() -> None:
    script = (
        "import pytest, sys; before = set(sys.modules); import agent_express_conformance.plugin; "
        "print(*sorted(name for name in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    assert done.stdout.split() == ["agent_express_conformance", "agent_express_conformance.plugin"]
