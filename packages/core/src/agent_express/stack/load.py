"""Read a stack file and build it."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from ..errors import PluginError, StackError
from ..registry import Registry
from ..registry import registry as own_registry
from ..secrets import Secrets, resolve_secret
from .build import Builder
from .document import read_document
from .file import UNLIMITED, StackFile
from .loaded import Stack
from .local import on_path
from .lockfile import refuse_drift
from .making import Maker, Models, nobody_knows
from .problems import Report
from .reading import read_reporting


def load_stack(
    path: str | os.PathLike[str],
    *,
    profile: str = "",
    registry: Registry | None = None,
    secrets: Secrets = resolve_secret,
    models: Models = nobody_knows,
    locked: bool = False,
) -> Stack:
    """Read the stack file at *path* and build what it names; a pyproject.toml is read at `[tool.agent-express]`.

    Modules beside the file can be imported from then on, unless it fails. Nothing is opened.

    Args:
        path: The file.
        profile: The profile to apply; "" for none.
        registry: The plugins to build it from; those installed here where it is left out.
        secrets: What resolves the secrets in settings.
        models: Knows models that no installed provider makes.
        locked: Whether what is installed must be what the lock beside the file says.

    Raises:
        StackError: All that is wrong, with line and column.
    """
    where = Path(path)
    document = read_document(where)
    report = Report(document.places)
    file = read_reporting(document.data, report, profile)
    return _build(file, where, report, registry, secrets, models, locked=locked)


def build_stack(
    file: StackFile,
    path: str | os.PathLike[str],
    *,
    registry: Registry | None = None,
    secrets: Secrets = resolve_secret,
    models: Models = nobody_knows,
    locked: bool = False,
) -> Stack:
    """Build what `read_stack` read from another form than TOML; see `load_stack`."""
    return _build(file, Path(path), Report(file.places), registry, secrets, models, locked=locked)


def _build(
    file: StackFile,
    path: Path,
    report: Report,
    registry: Registry | None,
    secrets: Secrets,
    models: Models,
    *,
    locked: bool,
) -> Stack:
    if locked and report.problems:
        raise StackError(path, report.sorted())
    has_own_code = any(":" in text for _, text in file.mentions)
    with on_path(path.parent) if has_own_code else nullcontext():
        stack = None
        try:
            plugins = registry or own_registry()
            if file.policy != UNLIMITED:
                plugins = plugins.with_policy(file.policy)
            if locked:
                refuse_drift(file, path, plugins)
            stack = Builder(file, path, Maker(plugins, secrets, path.parent, report, models)).build()
        except PluginError as error:  # the policy is strict, and a plugin that nobody need use is not right
            report.add(str(error), ("plugins", "strict"))
        if stack is None:
            raise StackError(path, report.sorted())
        if locked:
            refuse_drift(file, path, stack.registry, stack.layers)
    return stack
