"""The demo: an agent that reads files, and three middleware around it. `scripts/demo` runs it on this repository."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    TextDelta,
    ToolContext,
    ToolResult,
    tool,
)

ROOT = Path(__file__).resolve().parents[1]

# --- middleware: three of them, outermost first ---------------------------------------------------


class Timed(Event, type="demo:timed"):
    """How long something took."""

    what: str
    seconds: float


class Timing(Middleware):
    """Write down how long each model call and each tool call takes."""

    events = (Timed,)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        began = time.perf_counter()
        response = await next()
        await ctx.emit(Timed(f"model call {ctx.call_index + 1}", round(time.perf_counter() - began, 4)))
        return response

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        began = time.perf_counter()
        result = await next()
        await ctx.emit(Timed(f"tool {ctx.call.name}", round(time.perf_counter() - began, 4)))
        return result


class Used(BaseModel):
    """What the token budget remembers of a session."""

    tokens: int = 0


class TokenBudget(Middleware):
    """Abort the turn once the session has used *limit* tokens; the call that crosses the limit is the last one."""

    state = Used

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        used = ctx.state[self].tokens
        if used >= self.limit:
            ctx.abort(f"{used} of {self.limit} tokens are used")
        response = await next()
        ctx.state[self].tokens += response.usage.total_tokens or 0
        return response


class Redactor(Middleware):
    """Mask API keys in what the model says, while it streams: half a word is held back until the rest has come."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        held = ""
        async for event in next():
            match event:
                case TextDelta(text=text):
                    *words, held = re.split(r"(?<=\s)", held + text)
                    yield TextDelta(mask("".join(words)))
                case End(result=response):
                    yield TextDelta(mask(held))
                    said = response.message
                    yield End(response.replace(message=said.with_text(mask(said.text))))
                case _:
                    yield event


def mask(text: str) -> str:
    """Replace what looks like an API key."""
    return re.sub(r"\bsk-[\w-]{6,}", "[key]", text)


# --- tools: they read one folder, and nothing outside of it ---------------------------------------


class Files(Middleware):
    """Four tools that read the text files in *folder*."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    @tool(read_only=True)
    def list_files(self, pattern: str = "*") -> list[str]:
        """List the files whose name matches a pattern.

        Args:
            pattern: Such as "*.md", for Markdown.
        """
        return [path.relative_to(self.folder).as_posix() for path in self._matching(pattern)]

    @tool(read_only=True)
    def read_file(self, path: str) -> str:
        """Read a file, at most 4,000 characters of it."""
        return self._text(path)[:4000]

    @tool(read_only=True)
    def count_lines(self, path: str) -> int:
        """Count the lines of a file."""
        return len(self._text(path).splitlines())

    @tool(read_only=True)
    def search_text(self, text: str, path: str = "*") -> list[str]:
        """Search for a text and return the lines that hold it, at most 20.

        Args:
            text: What is looked for, in upper or lower case.
            path: The file to search, or a pattern such as "*.md" for several.
        """
        found = [
            f"{path.relative_to(self.folder).as_posix()}:{number}: {line.strip()}"
            for path in self._matching(path)
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
            if text.lower() in line.lower()
        ]
        return found[:20]

    def _matching(self, pattern: str) -> Iterator[Path]:
        for folder, inner, names in os.walk(self.folder):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            paths = [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
            yield from (path for path in paths if not path.is_symlink() and self._matches(path, pattern))

    def _matches(self, path: Path, pattern: str) -> bool:
        exact = (self.folder / pattern).is_file()
        return path == self.folder / pattern if exact else path.match(pattern)

    def _text(self, path: str) -> str:
        inside = (self.folder / path).resolve()  # ".." and links are followed here, wherever they lead
        if not inside.is_relative_to(self.folder):
            raise PermissionError(f"{path} lies outside of the folder that may be read")
        if any(part.startswith(".") for part in inside.relative_to(self.folder).parts):
            raise PermissionError(f"{path} is hidden, and hidden files may not be read")
        return inside.read_text(encoding="utf-8")


agent = Agent(
    "offline:commands",
    instructions="You answer questions about the files in a folder. Look them up with your tools.",
).use(Timing(), TokenBudget(limit=20_000), Redactor(), Files(ROOT))

if __name__ == "__main__":
    print(agent.run_sync("List the Markdown files, read README.md and count its lines."))
