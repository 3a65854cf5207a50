"""Put rendered files on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..exits import CommandError


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        folder: Where.
        files: Paths within it, with slashes, sorted.
    """

    folder: Path
    files: tuple[str, ...]


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Refuse a folder that holds something already; with *force* only what is no folder.

    Raises:
        CommandError: Which one, and what to do.
    """
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder} is a file; remove it, or choose another name")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise CommandError(f"{folder} exists and is not empty; choose another name, or write into it with --force")


def write(files: Mapping[str, str], folder: Path, *, force: bool = False) -> Written:
    """Write *files* into *folder*, which is made where it is missing.

    Args:
        files: Path within the folder -> text.
        folder: Where they go.
        force: Write into a folder that holds something already, over files of the same name.

    Raises:
        CommandError: The folder is not empty, is a file, or cannot be written to.
    """
    check_folder(folder, force=force)
    try:
        for path, text in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommandError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error
    return Written(folder, tuple(sorted(files)))
