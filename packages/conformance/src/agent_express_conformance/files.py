"""Where the command writes: its output, and the files that its options name, which are tried before the checks run."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from agent_express.errors import ExpressError, UseError

BADGES = (".svg", ".json")
"""The forms of a badge, by what its file ends in."""

PIPE_CLOSED = 141
"""The exit code where whoever read the output has gone, as of any command that a closed pipe ends."""


class ReaderGone(Exception):  # noqa: N818 - it is no error: `head -1` has read enough
    """Whoever read the output has gone."""


def badge_fits(badge: Path | None, report: Path | None) -> None:
    """Refuse a badge of an unknown form, and one that would overwrite the report.

    Raises:
        UseError: So it is.
    """
    if badge is None:
        return
    if badge.suffix.lower() not in BADGES:
        raise UseError(
            f"--badge {badge} {f'ends in {badge.suffix}' if badge.suffix else 'has no ending'}, expected .svg for a "
            "picture, or .json for what a drawing service reads"
        )
    if report is not None and badge.absolute() == report.absolute():
        raise UseError(f"--report and --badge both name {badge}: give each a file of its own")


def writable(option: str, path: Path | None) -> None:
    """Try whether *path* can be written; what is there stays as it is, and nothing is left that was not there.

    Raises:
        UseError: It cannot: its folder is missing, it is a folder, or this user may not.
    """
    if path is None or (path.exists() and not path.is_dir() and not path.is_file()):
        return  # a device or a pipe is not opened twice
    is_new = not os.path.lexists(path)
    try:
        path.open("ab").close()
    except OSError as error:
        why = "there is no folder " + str(path.parent) if not path.parent.exists() else error.strerror or error
        raise UseError(f"{option} {path} cannot be written: {why}") from error
    if is_new:
        path.unlink()


def say(text: str) -> None:
    """Print *text* at once.

    Raises:
        ReaderGone: Nobody reads it any more.
        ExpressError: There is no room for it.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
            raise ReaderGone from error
        raise ExpressError(f"the output cannot be written: {error.strerror or error}") from error
