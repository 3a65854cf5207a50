"""The kit for providers, in the form of the one for middleware: the cases of core's provider kit as plain tests.

class TestMyModel(ProviderConformance):
    def model(self, url, *, key="kit"): ...
    def spoken(self, *parts, usage=USAGE): ...
    def broken(self): ...
    def refusal(self, why): ...
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Self, TypeAlias

from agent_express.manifest import CONTRACT
from agent_express.messages import Text, ToolCall, Usage
from agent_express.models import Model
from agent_express.registry import Registry
from agent_express.testing.provider_kit import USAGE, ProviderKit, Refusal, Spoken
from agent_express.testing.stand_in import Reply

from .checks import CHECKS
from .failure import ConformanceError, told
from .gate import permitted
from .judge import judge
from .reach import unreached
from .report import Report, Result, Verdict
from .subject import Published, Subject

CASES = tuple(name for name in vars(ProviderKit) if name.startswith("test_"))
"""The names of the cases, as tests."""

SHIPPED = "conformance"
"""The module of a provider's package in which it ships what the kit needs."""

KIT, PASSES = "provider-kit", "it passes the provider kit"
"""The kit as a whole; a provider that has no server is exempt from it, and its manifest says so."""

OF_PACKAGES = ("exemptions", "light-import", "manifest")
"""Checks of the other kit that hold for providers too."""


class ProviderConformance:
    """The cases as tests; subclass it as `class TestMyModel(ProviderConformance)` and override the four methods.

    Attributes:
        entries: Names in `agent_express.models` that it is for, where a package ships a kit for only some of its own.
        images: Whether the model reads pictures. Where it does not, it must say so with `UnsupportedError`.
        patience: Seconds after which a case counts as hanging.
        exempt: Cases it does not pass, by the name of the test, each with a reason.
    """

    entries: ClassVar[Sequence[str]] = ()
    images: bool = True
    patience: float = 30.0
    exempt: ClassVar[Mapping[str, str]] = {}

    def model(self, url: str, *, key: str = "kit") -> Model:
        """Return a new model whose provider is at *url*, "http://127.0.0.1:<port>", without a path."""
        raise NotImplementedError(f"{type(self).__name__}.model(url) must return the model under test")

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        """Return the stream in which the provider says *parts*; see `ProviderKit.spoken`."""
        raise NotImplementedError(f"{type(self).__name__}.spoken(*parts) must return the provider's stream")

    def broken(self) -> bytes:
        """Return the event by which the provider reports in mid-stream that it is overloaded."""
        raise NotImplementedError(f"{type(self).__name__}.broken() must return the provider's error event")

    def refusal(self, why: Refusal) -> Reply:
        """Return the provider's answer to a request it refuses."""
        raise NotImplementedError(f"{type(self).__name__}.refusal(why) must return the provider's refusal")


class _Kit(ProviderKit):
    """The cases of core over what a `ProviderConformance` returns."""

    def __init__(self, mine: ProviderConformance) -> None:
        self.mine, self.images, self.patience = mine, mine.images, mine.patience

    def model(self, url: str, *, key: str = "kit") -> Model:
        return self.mine.model(url, key=key)

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        return self.mine.spoken(*parts, usage=usage)

    def broken(self) -> bytes:
        return self.mine.broken()

    def refusal(self, why: Refusal) -> Reply:
        return self.mine.refusal(why)


Kit: TypeAlias = ProviderKit | ProviderConformance


def sentence_of(case: str) -> str:
    """What a case says: its name without underscores."""
    return case.removeprefix("test_").replace("_", " ")


def judge_case(kit: Kit, case: str, exempt: Mapping[str, str]) -> Result:
    """Run one case."""
    reason = exempt.get(case, exempt.get(sentence_of(case), ""))
    if reason.strip():
        return Result(case, sentence_of(case), Verdict.EXEMPT, reason.strip())
    whole = _Kit(kit) if isinstance(kit, ProviderConformance) else kit
    begun = perf_counter()
    try:
        asyncio.run(getattr(whole, case)())
    except Exception as error:
        who = type(kit).__name__
        text = str(error) if isinstance(error, AssertionError) else f"the case could not be carried out: {told(error)}"
        return Result(case, sentence_of(case), Verdict.FAILED, f"{who}: {text}", perf_counter() - begun)
    return Result(case, sentence_of(case), Verdict.PASSED, seconds=perf_counter() - begun)


def _test(case: str) -> Callable[[ProviderConformance], None]:
    def test(self: ProviderConformance) -> None:
        __tracebackhide__ = True
        result = judge_case(self, case, self.exempt)
        if result.outcome is Verdict.EXEMPT:
            import pytest

            pytest.xfail(f"exempt: {result.reason}")
        if result.outcome is Verdict.FAILED:
            raise ConformanceError(result.reason)

    test.__name__, test.__qualname__ = case, f"ProviderConformance.{case}"
    test.__doc__ = inspect.getdoc(getattr(ProviderKit, case))
    return test


for _case in CASES:
    setattr(ProviderConformance, _case, _test(_case))


@dataclass(frozen=True, slots=True)
class Provider:
    """An installed provider.

    Attributes:
        subject: Its entry point and manifest, for the checks that every package must pass.
        package: Its package.
        exempt: What it does not pass, by the name of the case or the check, each with a reason.
    """

    subject: Subject
    package: str
    exempt: Mapping[str, str]

    @classmethod
    def installed(cls, name: str, registry: Registry) -> Self:
        """The provider called *name*.

        Raises:
            PluginError: There is none of that name, it may not be used, or its manifest cannot be read. Nothing of it
                has been imported then.
        """
        plugin = permitted(name, "models", registry)
        manifest = registry.manifest(plugin)
        written: Mapping[str, Any] = manifest.exempt if manifest is not None else {}
        exempt = {check: reason if isinstance(reason, str) else "" for check, reason in written.items()}
        subject = Subject(
            plugin.name,
            object,
            Published(plugin, registry, manifest),
            exempt=exempt,
            cases=(KIT, *CASES, *map(sentence_of, CASES)),
        )
        return cls(subject, plugin.target.partition(":")[0].partition(".")[0], exempt)

    def results(self, only: str = "") -> Iterator[Result]:
        """How the checks come out, or *only* one of them.

        Raises:
            PluginError: The provider's module has not what the entry point names.
        """
        trouble = unreached(self.subject)
        for check in CHECKS:
            if check.name in OF_PACKAGES and only in ("", check.name):
                yield judge(check, self.subject, trouble)
        if only in OF_PACKAGES:
            return
        reason = self.exempt.get(KIT, "").strip()
        if reason:
            yield Result(KIT, PASSES, Verdict.EXEMPT, reason)
            return
        if trouble:
            yield Result(KIT, PASSES, Verdict.NOT_RUN, f"{trouble.check} has to pass first")
            return
        try:
            kits = self._kits()
        except Exception as error:
            yield Result(KIT, PASSES, Verdict.FAILED, self._unusable(error))
            return
        if not kits:
            yield Result(KIT, PASSES, Verdict.NOT_RUN, self._lacking)
        for kit in kits:
            form = kit.__name__ if len(kits) > 1 else ""
            for case in CASES if not only else [only]:
                yield replace(judge_case(kit(), case, self.exempt), case=form)

    def _kits(self) -> list[type[Kit]]:
        name = self.subject.name
        return [kit for kit in shipped(self.package) if not kit.entries or name in kit.entries]

    def _unusable(self, error: Exception) -> str:
        return (
            f"{self.subject.name}: importing its kit, {self.package}.{SHIPPED}, raised {told(error)}: it may need what "
            "the kit needs, pytest, and its own package, and nothing else"
        )

    @property
    def _lacking(self) -> str:
        return (
            f"{self.subject.name} ships nothing that the kit could run: put a subclass of ProviderKit, with what its "
            f"provider sends in bytes, into a module {self.package}.{SHIPPED}, or into your own tests; where it has "
            f'no server, say so in its manifest: "exempt": {{"{KIT}": "why"}}'
        )


NAMES: Mapping[str, str] = {
    **{check.name: check.test for check in CHECKS if check.name in OF_PACKAGES},
    **{case: case for case in CASES},
}
"""Check or case -> its name as a test."""


def run_provider(name: str, registry: Registry, said: Callable[[Result], object]) -> Report:
    """Run the kit on an installed provider that ships what it needs.

    Raises:
        PluginError: There is none of that name, it may not be used, its manifest cannot be read, or its entry point
            names nothing.
    """
    provider = Provider.installed(name, registry)
    results: list[Result] = []
    for result in provider.results():
        results.append(result)
        said(result)
    published = provider.subject.published
    plugin = published.plugin if published is not None else None
    return Report(
        provider.subject.name,
        "models",
        plugin.distribution if plugin is not None else "",
        plugin.version if plugin is not None else "",
        importlib.metadata.version("agent-express"),
        CONTRACT,
        tuple(results),
        provider.subject.figures,
    )


def shipped(package: str) -> list[type[Kit]]:
    """The kits in the module `conformance` of a provider's package."""
    name = f"{package}.{SHIPPED}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return []
        raise
    kits = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name]
    return [each for each in kits if issubclass(each, ProviderKit | ProviderConformance)]
