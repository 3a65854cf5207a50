"""The conformance kit over what the packages of this repository publish."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from checkout import PACKAGES

from agent_express.plugins import Plugin
from agent_express.registry import registry
from agent_express_conformance import Report, Verdict, as_text, provider, run_conformance
from agent_express_conformance.run import KINDS

OURS = [
    plugin
    for plugin in registry().plugins()
    if plugin.group in KINDS and plugin.distribution in {package.dist for package in PACKAGES.values()}
]
BY_THE_CLOCK = "own-time"  # the machine's speed decides nothing here
CASES = len(provider.CASES)


@cache
def checked(plugin: Plugin) -> Report:
    return run_conformance(plugin.qualified, kind=plugin.group)


@pytest.mark.parametrize("plugin", OURS, ids=[plugin.qualified for plugin in OURS])
def test_a_plugin_of_ours_passes_the_conformance_kit(plugin: Plugin) -> None:
    report = checked(plugin)
    failed = [check.name for check in report.of(Verdict.FAILED) if check.name != BY_THE_CLOCK]
    assert (failed, report.of(Verdict.NOT_RUN)) == ([], ()), as_text(report)


@pytest.mark.parametrize(
    ("name", "kits"),
    [
        ("openai", {"ChatKit": CASES, "ResponsesKit": CASES}),
        ("openai-chat", {"": CASES}),
        ("anthropic", {"": CASES}),
        ("offline", {}),
    ],
)
def test_each_model_of_ours_runs_the_kit_of_each_api_that_it_speaks(name: str, kits: dict[str, int]) -> None:
    report = checked(registry().find(name, "models"))
    assert Counter(check.case for check in report.checks if check.name in provider.CASES) == kits


def test_a_model_without_a_server_is_exempt_and_says_why() -> None:
    [exempt] = checked(registry().find("offline", "models")).of(Verdict.EXEMPT)
    assert exempt.name == provider.KIT
    assert exempt.reason.startswith("It has no server: ")
