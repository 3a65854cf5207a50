"""What code reaches for: network, files, other processes, as the interpreter's own audit events tell (PEP 578)."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
import zoneinfo
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_EVENTS: Mapping[str, str] = {
    "socket.connect": "network",
    "socket.bind": "network",
    "socket.sendto": "network",
    "socket.sendmsg": "network",
    "socket.getaddrinfo": "network",
    "socket.gethostbyname": "network",
    "socket.gethostbyaddr": "network",
    "open": "files",
    "os.listdir": "files",
    "os.scandir": "files",
    "os.mkdir": "files",
    "os.remove": "files",
    "os.rename": "files",
    "os.rmdir": "files",
    "os.truncate": "files",
    "os.link": "files",
    "os.symlink": "files",
    "os.chmod": "files",
    "sqlite3.connect": "files",
    "subprocess.Popen": "subprocess",
    "os.system": "subprocess",
    "os.exec": "subprocess",
    "os.posix_spawn": "subprocess",
    "os.spawn": "subprocess",
    "os.fork": "subprocess",
    "os.startfile": "subprocess",
    "pty.spawn": "subprocess",
}
_PROGRAM = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class Reached:
    """What was reached for while it listened.

    Attributes:
        seen: Permission -> what was done under it, each once, such as "open /tmp/notes.txt".
    """

    def __init__(self) -> None:
        self.seen: dict[str, list[str]] = {}

    def note(self, permission: str, what: str) -> None:
        """Keep one event."""
        found = self.seen.setdefault(permission, [])
        if what not in found:
            found.append(what)


_listeners: list[Reached] = []


@contextmanager
def listening() -> Generator[Reached]:
    """Note what any thread of this process reaches for; imports, and what belongs to the program, do not count."""
    _install()
    reached = Reached()
    _listeners.append(reached)
    try:
        yield reached
    finally:
        _listeners.remove(reached)


@functools.cache
def _install() -> None:
    """Once per process: an audit hook cannot be taken away again; without a listener it does nothing."""
    sys.addaudithook(_heard)


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if not _listeners:
        return
    permission = _EVENTS.get(event)
    if permission is None or (permission == "files" and _is_program(event, args)) or _is_importing():
        return
    _listeners[-1].note(permission, _shown(event, args))


def _shown(event: str, args: tuple[Any, ...]) -> str:
    held = [each for each in args if isinstance(each, str | bytes | os.PathLike | tuple)]
    shown = [repr(each) if isinstance(each, tuple) else os.fsdecode(each) for each in held]
    return " ".join([event, *shown[:1]])


def _is_program(event: str, args: tuple[Any, ...]) -> bool:
    """Whether a file is one that the program is made of, read and not written."""
    path = args[0] if args else None
    if not isinstance(path, str | bytes | os.PathLike):
        return True  # a descriptor that was opened before, or the folder that the program runs in
    name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - a path that is not looked at on the disk
    if name in (os.devnull, "/dev/urandom"):
        return True
    if event == "open":
        mode, flags = (*args[1:3], None, None)[:2]
        if any(letter in str(mode or "") for letter in "wax+") or (isinstance(flags, int) and flags & _WRITES):
            return False
    elif event not in ("os.listdir", "os.scandir"):
        return False
    in_library = any(name.startswith(folder) for folder in _library())
    return in_library or (event == "open" and name.endswith(_PROGRAM))


@functools.cache
def _library() -> tuple[str, ...]:
    """Where Python, what is installed, and the time zones lie."""
    paths = sysconfig.get_paths()
    found = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(sorted({f"{Path(each).resolve()}{os.sep}" for each in found} | set(zoneinfo.TZPATH)))


def _is_importing() -> bool:
    frame = inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(("importlib._bootstrap", "_frozen_importlib")):
            return True
        frame = frame.f_back
    return False
