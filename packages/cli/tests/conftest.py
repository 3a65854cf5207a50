from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from agent_express.testing.distributions import write_distribution

HERE = Path(__file__).parent
DEADLINE = 60.0
"""Seconds that a process may take for its next word on a busy machine."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(more: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment without what would choose a model, a colour or a width."""
    own = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
    kept = {name: value for name, value in os.environ.items() if name not in own and "AGENT_EXPRESS" not in name}
    return kept | dict(more)


def argv(*args: str) -> list[str]:
    """The command; warnings are errors, except that older versions of typer import what click is about to drop."""
    strict = ["-W", "error", "-W", "ignore::DeprecationWarning:typer"]
    return [sys.executable, *strict, "-m", "agent_express_cli", *args]


@pytest.fixture
def command() -> Command:
    """Run the command in the folder of `stacks.py`, as a process of its own."""

    def run(
        *args: str,
        stdin: str | bytes = b"",
        stdout: Any = subprocess.PIPE,
        env: Mapping[str, str] = {},
        folder: Path = HERE,
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            argv(*args),
            input=data,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(env),
            check=False,
            timeout=DEADLINE,
        )
        out = (done.stdout or b"").decode()
        return subprocess.CompletedProcess(args, done.returncode, out, done.stderr.decode())

    return run


class Site:
    """A folder in which distributions are installed that a test makes up.

    Attributes:
        folder: It stands on the path of the test, and of the commands that get `env`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}

    def add(self, name: str, source: str = "", group: str = "hooks", dist: str = "", **options: Any) -> str:
        """Install a distribution of one plugin, the class `It` of a module of its own; return "dist:name".

        Args:
            name: "acme.audit"; the distribution is "acme-audit" then.
            source: Of the module.
            group: "hooks", "middleware" ...
            dist: Another name for the distribution.
            options: Of `write_distribution`; `entry` is the plugin's entry in the manifest.
        """
        dist = dist or name.replace(".", "-")
        module = dist.replace("-", "_")
        entry = options.pop("entry", None)
        if entry is not None:
            options["manifest"] = {"contract": 1, "entries": {name: {"group": group, **entry}}}
        write_distribution(
            self.folder,
            dist,
            entry_points={group: {name: options.pop("target", f"{module}:It")}},
            modules={f"{module}/__init__.py": source},
            **options,
        )
        return f"{dist}:{name}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


class Talk:
    """A running command, whose output is read until it says what the test waits for."""

    def __init__(self, process: subprocess.Popen[bytes], output: int, keys: int) -> None:
        self.process, self._output, self._keys = process, output, keys
        self.text = ""
        self._seen = 0

    def expect(self, words: str) -> None:
        """Read on until *words* come, after those that came before."""
        until = time.monotonic() + DEADLINE
        while words not in self.text[self._seen :]:
            assert time.monotonic() < until, f"no {words!r} in {self.text!r}"
            ended = self.process.poll() is not None
            assert self._read() or not ended, f"the command ended without {words!r}: {self.text!r}"
        self._seen = self.text.index(words, self._seen) + len(words)

    def _read(self) -> bool:
        """Take what has been written, waiting a moment for it; whether there was something."""
        ready, _, _ = select.select([self._output], [], [], 0.1)
        data = os.read(self._output, 65536) if ready else b""
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def type(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def interrupt(self, words: str) -> None:
        """Press Ctrl-C at the prompt until *words* come.

        Python misses the one that comes right before it begins to wait for a key.
        """
        until = time.monotonic() + DEADLINE
        while words not in self.text[self._seen :]:
            assert time.monotonic() < until, f"no {words!r} in {self.text!r}"
            self.type("\x03")
            pressed = time.monotonic()
            while time.monotonic() < pressed + 2 and words not in self.text[self._seen :]:
                self._read()
        self.expect(words)

    def end(self) -> int:
        """Wait until the command has ended and all is read; the exit code."""
        until = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < until, f"the command does not end: {self.text!r}"
            self._read()
        while self._read():
            pass
        return self.process.returncode


@pytest.fixture
def keyboard() -> Iterator[Callable[..., Talk]]:
    """Run the command on a terminal of its own, with a keyboard: Ctrl-C is "\\x03", Ctrl-D is "\\x04"."""
    import pty
    import termios

    open_files: list[int] = []
    talks: list[Talk] = []

    def start(*args: str, env: Mapping[str, str] = {}, stdout: Path | None = None) -> Talk:
        master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        settings[3] |= termios.NOFLSH  # else Ctrl-C also throws away what the command has just written
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        open_files.extend((master, slave))
        # Whoever leads a session and opens a terminal gets it for Ctrl-C.
        out = '"$0"' if stdout is None else f"'{stdout}'"
        shell = ["sh", "-c", f'exec "$@" <"$0" >{out} 2>"$0"', os.ttyname(slave)]
        process = subprocess.Popen(
            [*shell, *argv(*args)], cwd=HERE, env=environment({"TERM": "xterm", **env}), start_new_session=True
        )
        talks.append(Talk(process, master, master))
        return talks[-1]

    yield start
    _stop(talks)
    for each in open_files:
        os.close(each)


@pytest.fixture
def piped() -> Iterator[Callable[..., Talk]]:
    """Run the command with pipes, its stderr with its stdout, and go on while it runs."""
    talks: list[Talk] = []

    def start(*args: str, stderr: Any = subprocess.STDOUT) -> Talk:
        process = subprocess.Popen(
            argv(*args),
            cwd=HERE,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        talks.append(Talk(process, process.stdout.fileno(), process.stdin.fileno()))
        return talks[-1]

    yield start
    _stop(talks)


def _stop(talks: list[Talk]) -> None:
    for talk in talks:
        if talk.process.poll() is None:
            talk.process.kill()
        talk.process.wait()
        for pipe in (talk.process.stdin, talk.process.stdout, talk.process.stderr):
            if pipe is not None:
                pipe.close()


class SmallTerminal(io.TextIOBase):
    """A terminal of *width* columns that understands what the command sends: text, line ends, tabs, wiping, colours.

    Attributes:
        rows: What stands on it, a list of cells for each row.
        row: Where the cursor is.
        codes: The colour codes it was sent, in order.
    """

    encoding = "utf-8"

    def __init__(self, width: int) -> None:
        self.width, self.row, self.column = width, 0, 0
        self.rows: list[list[str]] = [[]]
        self.codes: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for escape, character in re.findall(r"\x1b\[([\d;]*[A-Za-z])|(.)", text, re.DOTALL):
            if escape:
                self._obey(escape)
            else:
                self._put(character)
        return len(text)

    def _obey(self, escape: str) -> None:
        if escape == "J":
            self.rows = [*self.rows[: self.row], self.rows[self.row][: self.column]]
        elif escape.endswith("A"):
            self.row -= int(escape[:-1])
            assert self.row >= 0, "the cursor would leave the screen"
        else:
            assert escape.endswith("m"), f"a terminal may not know {escape!r}"
            self.codes.append(escape)

    def _put(self, character: str) -> None:
        if character == "\n":
            self._move(self.row + 1, 0)
        elif character == "\r":
            self.column = 0
        elif character == "\t":
            self.column = max(self.column, min(self.column + 8 - self.column % 8, self.width - 1))
        else:
            cells = cell_len(character)
            if self.column + cells > self.width:
                self._move(self.row + 1, 0)
            row = self.rows[self.row]
            row.extend(" " * (self.column - len(row)))
            row[self.column : self.column + cells] = [character, *[""] * (cells - 1)]
            self.column += cells

    def _move(self, row: int, column: int) -> None:
        self.row, self.column = row, column
        while len(self.rows) <= row:
            self.rows.append([])

    @property
    def text(self) -> str:
        """All that stands on it."""
        return "\n".join("".join(row).rstrip() for row in self.rows)


@pytest.fixture(scope="session")
def small_terminal() -> type[SmallTerminal]:
    return SmallTerminal
