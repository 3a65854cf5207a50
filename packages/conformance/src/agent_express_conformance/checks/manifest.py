"""What the package says of a plugin, against what the code is."""

from __future__ import annotations

import json
from typing import Any

from agent_express.describe import describe, differences
from agent_express.errors import ExpressError
from agent_express.manifest import DECLARED, ManifestEntry
from agent_express.origins import origin_of

from ..failure import fail, told
from ..subject import Published, Subject


def exemptions(subject: Subject) -> None:
    """An exemption names a check of this kit and says why."""
    from . import CHECKS  # this module is one of those it lists

    known = {check.name for check in CHECKS} | set(subject.cases)
    for name, reason in subject.exempt.items():
        if name not in known:
            fail(f"{subject.name} is exempt from {name!r}, which is no check; checks are {', '.join(sorted(known))}")
        if not reason.strip():
            fail(f"{subject.name} is exempt from {name!r} without a reason: write down why it cannot pass")


def manifest_is_true(subject: Subject) -> None:
    """The manifest says what the code says."""
    published = _published(subject)
    written = _manifest(subject, published)
    factory = published.registry.load(published.plugin)
    declared = {key: written.raw[key] for key in DECLARED if key in written.raw}
    real = describe(published.plugin.name, published.plugin.group, factory, declared)
    wrong = list(differences(written.raw, real))
    if wrong:
        fail(f"{subject.name}: {'; '.join(wrong)}: write the manifest anew from the code")


def settings_round_trip(subject: Subject) -> None:
    """The example makes a working object, and what it was made with can be written down and used again."""
    published = _published(subject)
    settings = published.registry.settings(published.plugin)
    if published.manifest is None and settings.required:
        return  # the check of the manifest tells that there is none
    given = published.manifest.example if published.manifest is not None else None
    if given is None and settings.required:
        fail(
            f"{subject.name} cannot be made without {', '.join(settings.required)}, and its manifest has no example: "
            'add "example": settings that make a working one without a network or a key'
        )
    example = dict(given or {})
    try:
        made = published.registry.create(published.plugin, example)
    except ExpressError as error:
        fail(
            f"{subject.name} cannot be made of its example {example}: {told(error)}; mend the example, or what it makes"
        )
    origin = origin_of(made)
    if origin is None:
        fail(f"{subject.name}: what its factory gives cannot be referred to weakly: give its class __weakref__")
    once = settings.dump(origin.config)
    try:
        again = settings.dump(settings.validate(json.loads(json.dumps(_given(once, example)))))
    except (ExpressError, ValueError, TypeError) as error:
        fail(f"{subject.name}: its settings do not survive JSON: {once} became {told(error)}")
    if again != once:
        fail(f"{subject.name}: its settings change on the way through JSON: {once} became {again}")


def _given(once: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    """Dumped settings, with what does not show itself, a secret say, as the example writes it."""
    hidden = {key: value for key, value in example.items() if key not in once or isinstance(value, dict)}
    return {**once, **hidden}


def _published(subject: Subject) -> Published:
    if subject.published is None:
        fail(f"{subject.name} is no installed plugin: name the entry point that publishes it")
    return subject.published


def _manifest(subject: Subject, published: Published) -> ManifestEntry:
    if published.manifest is None:
        fail(
            f"{subject.name}: {published.plugin.distribution} has no manifest for it: put agent_express.json beside "
            "the package's __init__.py, written by `agent_express.describe`"
        )
    return published.manifest
