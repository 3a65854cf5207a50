"""Import a module under the eyes of an audit hook and print what it did, as JSON. Run as a script, not imported.

The first argument is the module; the standard input holds `sys.path` as a JSON array. What core itself loads is
loaded before, so that nobody is blamed for it.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from time import perf_counter
from typing import Any

_WATCHED = (
    "socket.__new__",
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
)


def main() -> None:
    """Import, watch, tell."""
    sys.path[:] = json.load(sys.stdin)
    begun = perf_counter()
    importlib.import_module("agent_express")
    core_seconds = perf_counter() - begun
    importlib.import_module("agent_express.registry")
    before, did = set(sys.modules), list[str]()
    active = True

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if active and event in _WATCHED:
            did.append(f"{event} {next((str(each) for each in args if isinstance(each, str | list)), '')}".strip())

    sys.addaudithook(heard)
    start, started = threading.Thread.start, list[str]()

    def starting(thread: threading.Thread) -> None:
        started.append(f"the thread {thread.name!r}")
        start(thread)

    threading.Thread.start = starting  # type: ignore[method-assign,assignment] # no audit event tells of it on every Python
    error, module = "", sys.argv[1]
    begun = perf_counter()
    try:
        importlib.import_module(module)
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
    seconds = perf_counter() - begun
    active = False
    told = {
        "module": module,
        "seconds": seconds,
        "core_seconds": core_seconds,
        "error": error,
        "did": did,
        "threads": started,
        "loaded": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
    }
    print(f"\n{json.dumps(told)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
