"""The conformance kit over what the packages of this repository publish."""

from __future__ import annotations

import pytest
from checkout import PACKAGES

from agent_express.plugins import Plugin
from agent_express.registry import registry
from agent_express_conformance import Verdict, as_text, run_conformance
from agent_express_conformance.run import KINDS

OURS = [
    plugin
    for plugin in registry().plugins()
    if plugin.group in KINDS and plugin.distribution in {package.dist for package in PACKAGES.values()}
]
BY_THE_CLOCK = "own-time"  # the machine's speed decides nothing here


@pytest.mark.parametrize("plugin", OURS, ids=[plugin.qualified for plugin in OURS])
def test_a_plugin_of_ours_passes_the_conformance_kit(plugin: Plugin) -> None:
    report = run_conformance(plugin.qualified, kind=plugin.group)
    failed = [check.name for check in report.of(Verdict.FAILED) if check.name != BY_THE_CLOCK]
    assert failed == [], as_text(report)
    # The kit that a provider runs needs the bytes of its provider: ours run it in their own tests.
    assert {check.name for check in report.of(Verdict.NOT_RUN)} <= {"provider-kit"}, as_text(report)
