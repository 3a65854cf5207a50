"""What breaks for those who use the public names, compared with the last release.

Public is what the release promised: the names in `__all__` of a package and of the modules that its reference
documented then. A break is allowed where a fragment of the type "changed" or "removed" names what it breaks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import griffe

from releasing.commands import CommandError
from releasing.fragments import BREAKING, EVERYWHERE, FOLDER, Fragment, read
from releasing.notes import CHANGELOG, changelog, written
from releasing.versions import VersionError, numbers
from releasing.workspace import Workspace

DOCUMENTED = re.compile(r"^::: ([\w.]+)\s*$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


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


@dataclass(frozen=True)
class Released:
    """A package as it was released: its folder and its module."""

    area: str
    dist: str

    @property
    def module(self) -> str:
        """The name it is imported by."""
        return self.dist.replace("-", "_")

    @property
    def path(self) -> Path:
        """Where its modules are, from the root."""
        return Path("packages", self.area, "src")


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
    """List each break since *tag* that no fragment tells of."""
    told = [*read(workspace), *_told_since(workspace, tag)]
    return [
        f"{found.told}: if it has to be, add {FOLDER.as_posix()}/{found.area}.<what>.changed.md or .removed.md"
        f" that names `{found.name}`"
        for found in breaks(workspace, tag)
        if not any(found.is_told_in(fragment) for fragment in told)
    ]


def _told_since(workspace: Workspace, tag: str) -> Iterator[Fragment]:
    """The fragments that went into the changelog after *tag*, for a version that has no tag yet."""
    old = written(_at(workspace, tag, CHANGELOG))
    for version, fragments in written(changelog(workspace)).items():
        if version not in old:
            yield from fragments


def _at(workspace: Workspace, tag: str, path: Path) -> str:
    """The text of a file as it was at *tag*; "" where there was none."""
    try:
        return workspace.git("show", f"{tag}:{path.as_posix()}")
    except CommandError:
        return ""


def breaks(workspace: Workspace, tag: str) -> Iterator[Break]:
    """Find what does not work any more, package by package. A package that is new breaks nothing."""
    documented = set(_documented(workspace, tag))
    for package in _released(workspace, tag):
        now = workspace.packages.get(package.dist)
        if now is None:
            yield Break(package.area, package.dist, f"{package.dist}: the package was removed")
            continue
        old = griffe.load_git(
            package.module, ref=tag, repo=workspace.root, search_paths=[package.path], allow_inspection=False
        )
        search = [workspace.root / package.path]
        new = griffe.load(package.module, search_paths=search, allow_inspection=False, try_relative_path=False)
        yield from _compare(package, old, new, documented)


def _released(workspace: Workspace, tag: str) -> Iterator[Released]:
    for path in workspace.git("ls-tree", "-r", "--name-only", tag, "packages").split("\n"):
        if re.fullmatch(r"packages/[^/]+/pyproject\.toml", path):
            pyproject = tomllib.loads(_at(workspace, tag, Path(path)))
            yield Released(path.split("/")[1], str(pyproject["project"]["name"]))


def _documented(workspace: Workspace, tag: str) -> Iterator[str]:
    """The modules in the reference of that release."""
    for path in workspace.git("ls-tree", "-r", "--name-only", tag, "docs").split("\n"):
        if path.endswith(".md"):
            yield from DOCUMENTED.findall(_at(workspace, tag, Path(path)))


Tree = griffe.Object | griffe.Alias


def _compare(package: Released, old: Tree, new: Tree, documented: Iterable[str]) -> Iterator[Break]:
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
