"""Everything that a release has to pass, as steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.builds import Build, build, collect
from releasing.contents import check_built, check_contents, check_licence, check_typed
from releasing.demo import check_demo
from releasing.entry_points import check_entry_points
from releasing.fragments import check_fragments
from releasing.installs import check_alone, check_together
from releasing.metadata import check_layout, check_metadata
from releasing.ranges import check_ranges, check_versions
from releasing.reproducible import check_reproducible
from releasing.workspace import Workspace


@dataclass(frozen=True)
class Step:
    """One step that was made.

    Attributes:
        name: What it looks at.
        seconds: How long it took.
        problems: What is wrong: sentences; none means that it passed.
    """

    name: str
    seconds: float
    problems: tuple[str, ...]


Check = Callable[[Build], list[str]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("every package is built", check_built),
    ("metadata (twine)", check_metadata),
    ("layout (check-wheel-contents)", check_layout),
    ("versions", check_versions),
    ("ranges between packages", check_ranges),
    ("entry points and manifests", check_entry_points),
    ("typed markers", check_typed),
    ("licence", check_licence),
    ("contents", check_contents),
    ("a second build is the same", check_reproducible),
)


def steps(workspace: Workspace) -> Iterator[Step]:
    """Make one step after the other; none is left out because one before it failed, unless nothing was built."""
    before = _status(workspace)
    yield _step("changelog fragments", lambda: check_fragments(workspace))
    with TemporaryDirectory() as place:
        building = _step("build", partial(_build, workspace, Path(place)))
        yield building
        built = collect(workspace, Path(place))
        for name, check in () if building.problems else _checks(built):
            yield _step(name, partial(check, built))
    yield _step("nothing is left in the work tree", lambda: sorted(_status(workspace) - before))


def _build(workspace: Workspace, folder: Path) -> list[str]:
    build(workspace, folder)
    return []


def _checks(built: Build) -> Iterator[tuple[str, Check]]:
    yield from CHECKS
    for dist in built.wheels:
        yield f"{dist} alone", partial(check_alone, dist=dist)
    yield "all together", check_together
    yield "the demo, from wheels", check_demo


def _step(name: str, check: Callable[[], list[str]]) -> Step:
    began = time.perf_counter()
    try:
        problems = check()
    except Exception as error:  # a check that breaks is a failure of its step, and no reason to leave out the others
        problems = [f"{type(error).__name__}: {error}"]
    return Step(name, time.perf_counter() - began, tuple(problems))


def _status(workspace: Workspace) -> set[str]:
    """What git sees in the work tree that is not committed, ignored files included."""
    return set(workspace.git("status", "--porcelain", "--ignored", "--untracked-files=all").splitlines())
