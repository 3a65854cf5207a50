"""What breaks for those who use the public names, compared with the last release.

Public is what the release promised: the names in `__all__` of a package and of the modules that its reference
documented then. A break is allowed where a fragment of the type "changed" or "removed" names what it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import griffe

from releasing.fragments import BREAKING, EVERYWHERE, FOLDER, Fragment, read
from releasing.notes import changelog, written
from releasing.versions import VersionError, numbers, train
from releasing.workspace import Package, Workspace

Tree = griffe.Object | griffe.Alias

DOCUMENTED = re.compile(r"^::: ([\w.]+)\s*$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
ADVICE = (
    f"What has to break stands in {FOLDER.as_posix()}/AREA.WHAT.changed.md (or .removed.md), its name in backticks;"
    " the name of its class will do."
)


@dataclass(frozen=True)
class Break:
    """Something that worked with the last release and does not any more.

    Attributes:
        area: The folder in `packages/`.
        name: What breaks, without its module: "Session.run".
        told: A sentence.
    """

    area: str
    name: str
    told: str

    def is_told_in(self, fragment: Fragment) -> bool:
        """Whether *fragment* names in backticks what breaks, or what that is part of, as a change."""
        if fragment.type not in BREAKING or fragment.area not in {self.area, EVERYWHERE}:
            return False
        said = {code.partition("(")[0].strip() for code in CODE.findall(fragment.text)}
        parts = self.name.split(".")
        return not said.isdisjoint(".".join(parts[: length + 1]) for length in range(len(parts)))


def last_release(workspace: Workspace) -> str | None:
    """Return the newest tag "v1.2.3" that the current commit comes after; None where there is none."""
    found = [tag for tag in workspace.git("tag", "--list", "v*", "--merged", "HEAD").split() if _is_release(tag)]
    return max(found, key=lambda tag: numbers(tag[1:]), default=None)


def _is_release(tag: str) -> bool:
    try:
        numbers(tag[1:])
    except VersionError:
        return False
    return True


def check_api(workspace: Workspace, tag: str) -> list[str]:
    """List each break since *tag* that no fragment tells of, and a new version that is too small for what breaks."""
    with _checked_out(workspace, tag) as old:
        found = list(breaks(old, workspace))
        told = [*read(workspace), *_told_since(old, workspace)]
    new, before = workspace.core.version, tag[1:]
    small = [f"{new} has breaks after {before}: set the next version by scripts/release bump minor"]
    return [
        *[one.told for one in found if not any(one.is_told_in(fragment) for fragment in told)],
        *(small if found and new != before and train(new) == train(before) else []),
    ]


@contextmanager
def _checked_out(workspace: Workspace, tag: str) -> Generator[Workspace]:
    """The checkout as it was at *tag*, in another folder for a while."""
    with TemporaryDirectory() as place:
        folder = Path(place, "released")
        workspace.git("worktree", "add", "--quiet", "--detach", str(folder), tag)
        try:
            yield Workspace(folder)
        finally:
            workspace.git("worktree", "remove", "--force", str(folder))


def _told_since(old: Workspace, new: Workspace) -> Iterator[Fragment]:
    """The fragments that went into the changelog since then, for a version that has no tag yet."""
    known = written(changelog(old))
    for version, fragments in written(changelog(new)).items():
        if version not in known:
            yield from fragments


def breaks(old: Workspace, new: Workspace) -> Iterator[Break]:
    """Find what does not work any more, package by package. A package that is new breaks nothing."""
    documented = set(_documented(old))
    for package in old.packages.values():
        now = new.packages.get(package.dist)
        if now is None:
            yield Break(package.area, package.dist, f"{package.dist}: the package was removed")
        else:
            yield from _compare(package, _load(package), _load(now), documented)


def _documented(workspace: Workspace) -> Iterator[str]:
    """The modules in the reference."""
    for path in sorted(workspace.root.glob("docs/**/*.md")):
        yield from DOCUMENTED.findall(path.read_text(encoding="utf-8"))


def _load(package: Package) -> Tree:
    """Read the modules of *package*; nothing is imported."""
    search = [package.source.parent]
    return griffe.load(package.module, search_paths=search, allow_inspection=False, try_relative_path=False)


def _compare(package: Package, old: Tree, new: Tree, documented: Iterable[str]) -> Iterator[Break]:
    _make_private(old, {package.module, *documented})
    seen: set[str] = set()
    for found in griffe.find_breaking_changes(old, new):
        name = _name(found.obj)
        told = f"{package.dist}: {name}: {_said(found)}"
        if told not in seen:  # what is public in two modules breaks once
            seen.add(told)
            yield Break(package.area, name, told)


def _make_private(module: Tree, public: set[str]) -> None:
    """Take all modules below *module* for private but those that are *public* or on the way to one."""
    for member in module.members.values():
        if member.is_alias or not member.is_module:
            continue
        member.public = any(name == member.path or name.startswith(f"{member.path}.") for name in public)
        _make_private(member, public)


def _name(thing: Tree) -> str:
    """The name of *thing* without its module: "Session.run"; a module's own whole name."""
    if not thing.is_alias and thing.is_module:
        return thing.path
    parts = [thing.name]
    outer = thing.parent
    while outer is not None and not outer.is_module:
        parts.append(outer.name)
        outer = outer.parent
    return ".".join(reversed(parts))


def _said(found: griffe.Breakage) -> str:
    """What griffe found, in one line: "Parameter was removed (timeout)"."""
    what = found.kind.value
    named = getattr(found.old_value, "name", "") or getattr(found.new_value, "name", "")
    return f"{what} ({named})" if named and found.kind is not griffe.BreakageKind.OBJECT_REMOVED else what
