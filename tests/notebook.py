"""Runs the Python samples of a Markdown page as a reader would, who goes through it with a notebook at hand.

    python notebook.py README.md

All samples share one namespace and run in order, inside a running event loop, with `await` at the top level. One that
starts a loop itself (`asyncio.run`) is run outside of ours.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import types
from pathlib import Path
from typing import Any


def samples(page: Path) -> list[str]:
    """The Python samples of *page*, each with its line numbers kept."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return ["\n" * (text[: match.start()].count("\n") + 1) + match[1] for match in found]


def run(page: Path) -> None:
    """Run them all; a failure shows the line of the page."""
    module = types.ModuleType("page")
    sys.modules["page"] = module
    with asyncio.Runner() as runner:
        for sample in samples(page):
            code = compile(sample, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if "asyncio.run(" in sample:
                exec(code, module.__dict__)
            else:
                runner.run(_inside(code, module.__dict__))


async def _inside(code: types.CodeType, namespace: dict[str, Any]) -> None:
    result = eval(code, namespace)
    if inspect.iscoroutine(result):
        await result


if __name__ == "__main__":
    run(Path(sys.argv[1]))
