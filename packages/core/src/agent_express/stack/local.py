"""The project's own code: found beside the stack file."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from ..distributions import brought_by
from ..errors import BrokenPluginError


@contextmanager
def on_path(folder: Path) -> Generator[None]:
    """Let modules in *folder* be imported, before all others: what `python script.py` does for the script's folder.

    It stays so, because code may import more when it runs, unless the block fails.
    """
    here = str(folder.resolve())
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        if here in sys.path:
            sys.path.remove(here)
        raise


def check_home(text: str, folder: Path) -> None:
    """Refuse own code that is not the one beside the stack file: another module of that name came first.

    Raises:
        BrokenPluginError: Which file was imported, and which one is meant.
    """
    top = text.partition(":")[0].partition(".")[0]
    beside = PathFinder.find_spec(top, [str(folder.resolve())])
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if beside is None or beside.origin is None or loaded is None:
        return
    if Path(loaded).resolve() != Path(beside.origin).resolve():
        raise BrokenPluginError(
            f"{text}: {top!r} was imported from {loaded}, and beside the stack file stands {beside.origin}: "
            "give one of them another name"
        )


def is_beside(module: str, folder: Path) -> bool:
    """Whether a top-level module lies beside the stack file."""
    return PathFinder.find_spec(module, [str(folder.resolve())]) is not None


def digests(module: str, folder: Path) -> dict[str, str]:
    """The digest of each file of a top-level module, or of a package with all below it, by its path from *folder*.

    Nothing is imported. Line ends count as one, so that a checkout on Windows has the same digests.
    """
    return {_relative(file, folder): _digest(file) for file in sorted(_files(_spec(module, folder)))}


def distribution_of(module: str, folder: Path) -> str:
    """The distribution that a top-level module was installed with, "name==version"; "" for a file of the project."""
    spec = _spec(module, folder)
    place = Path(spec.origin) if spec is not None and spec.origin is not None else None
    if place is None or (folder.resolve() in place.resolve().parents and "site-packages" not in place.parts):
        return ""
    return brought_by(module)


def is_findable(reference: str) -> bool:
    """Whether there is a module that "module:attr" could be in; nothing is imported."""
    try:
        return find_spec(reference.partition(":")[0].partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _spec(module: str, folder: Path) -> ModuleSpec | None:
    return PathFinder.find_spec(module, [str(folder.resolve()), *sys.path])


def _files(spec: ModuleSpec | None) -> Iterator[Path]:
    if spec is None:
        return
    folders = [Path(each) for each in spec.submodule_search_locations or ()]
    for folder in folders:
        yield from (file for file in folder.rglob("*.py") if file.is_file())
    if not folders and spec.origin is not None:
        yield Path(spec.origin)


def _digest(file: Path) -> str:
    content = file.read_bytes().replace(b"\r\n", b"\n")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _relative(file: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(file.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive of Windows
        return file.resolve().as_posix()
