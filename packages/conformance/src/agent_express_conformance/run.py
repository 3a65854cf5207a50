"""Run the kit on what is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent_express.distributions import core_version
from agent_express.errors import PluginError
from agent_express.manifest import CONTRACT
from agent_express.registry import Registry
from agent_express.registry import registry as of_this_process

from .forms import Form, forms_of
from .judge import Trouble, checks_for, judge, judged
from .reach import unreached
from .report import Report, Result
from .subject import Subject, installed

KINDS = ("middleware", "models")


def run_conformance(
    name: str,
    *,
    kind: str = "middleware",
    registry: Registry | None = None,
    told: Callable[[Result], object] = lambda _: None,
    **options: Any,
) -> Report:
    """Run the kit on an installed plugin.

    Args:
        name: Its entry, "guards.cost-cap" or "distribution:guards.cost-cap".
        kind: Its group: "middleware", or "models" for a provider.
        registry: Where it is looked up; the process's own where it is left out.
        told: Called with each result as it comes.
        **options: For middleware: `slowest` and `clock`, see `Subject`.

    Raises:
        UnknownPluginError: There is none of that name; says what is near.
        PluginError: Nothing can be checked: it may not be used, its entry point names nothing, its manifest cannot be
            read, a hook beside it is broken, or there is no kit for that kind. A module that cannot be imported is in
            the report: the check "light-import" has failed, and what needs the module was not run.
    """
    found = registry or of_this_process()
    if kind == "models":
        from .provider import run_provider  # it needs pytest

        return run_provider(name, found, told)
    if kind != "middleware":
        raise PluginError(f"there is no kit for the kind {kind!r}; there are kits for {' and '.join(KINDS)}")
    subject = installed(name, found, **options)
    return check_subject(subject, told, further(subject))


def further(subject: Subject) -> Sequence[Form]:
    """The further forms of *subject*; none where its module cannot be imported, which a check reports.

    Raises:
        PluginError: The module has not what the entry point names, or a hook that names forms cannot be asked.
    """
    return () if unreached(subject) else forms_of(subject)


def check_subject(
    subject: Subject, told: Callable[[Result], object] = lambda _: None, forms: Sequence[Form] = ()
) -> Report:
    """Run the kit on *subject*, and on further forms of it."""
    results: list[Result] = []
    for case, each in (("", subject), *((form.name, form.subject) for form in forms)):
        trouble = unreached(each)
        for found in _unreached(each, trouble) if trouble else judged(each):
            result = replace(found, case=case)
            results.append(result)
            told(result)
    plugin = subject.published.plugin if subject.published is not None else None
    return Report(
        subject.name,
        "middleware",
        plugin.distribution if plugin is not None else "",
        plugin.version if plugin is not None else "",
        core_version(),
        CONTRACT,
        tuple(results),
        subject.figures,
    )


def _unreached(subject: Subject, trouble: Trouble) -> Iterator[Result]:
    """The results where the module cannot be imported."""
    return (judge(check, subject, trouble) for check in checks_for(subject))
