"""What importing a plugin's module does, seen in a fresh interpreter."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from ..failure import fail
from ..subject import Published, Subject

HEAVY = frozenset([
    "aiohttp", "altair", "anthropic", "azure", "bokeh", "boto3", "botocore", "cohere", "cv2", "datasets", "django",
    "duckdb", "faiss", "fastapi", "flask", "google", "gradio", "grpc", "httpx", "huggingface_hub", "jax", "jupyter",
    "keras", "langchain", "litellm", "llama_index", "lxml", "matplotlib", "mistralai", "mlflow", "nltk", "numba",
    "numpy", "openai", "opentelemetry", "pandas", "PIL", "playwright", "polars", "psycopg", "pyarrow", "pymongo",
    "qdrant_client", "redis", "requests", "scipy", "selenium", "sentence_transformers", "sentry_sdk", "sklearn",
    "spacy", "sqlalchemy", "streamlit", "sympy", "tensorflow", "tiktoken", "tokenizers", "torch", "transformers",
    "uvicorn"
])  # fmt: skip
"""Top-level modules that take their time, or bring half a world along: for `init`, or where needed."""

_LIMIT = 120.0  # seconds that the interpreter may take before it counts as hanging


def light_import(subject: Subject) -> None:
    """Importing its module opens no connection, starts no process and no thread, and loads nothing heavy."""
    found = watched(_published(subject))
    subject.figures["import seconds"] = found["seconds"]
    subject.figures["import share of core"] = found["seconds"] / max(found["core_seconds"], 1e-9)
    if found["error"]:
        fail(f"{subject.name}: importing {found['module']} raised {found['error']}; do in init what can fail")
    if found["did"]:
        fail(
            f"{subject.name}: importing {found['module']} did {'; '.join(found['did'][:3])}: nothing may happen just "
            "because something is imported, do it in init"
        )
    if found["threads"]:
        fail(
            f"{subject.name}: importing {found['module']} started {', '.join(found['threads'])}: start it in init and "
            "stop it in dispose"
        )
    heavy = sorted(HEAVY & set(found["loaded"]))
    if heavy:
        fail(
            f"{subject.name}: importing {found['module']} loads {', '.join(heavy)}: import it in init, or in the "
            "function that needs it, so that listing plugins and starting an agent stay fast"
        )


def _published(subject: Subject) -> Published:
    if subject.published is None:
        fail(f"{subject.name} is no installed plugin: name the entry point that publishes it")
    return subject.published


def survives(published: Published) -> bool:
    """Whether an interpreter that imports the module of a plugin is there afterwards: else it is not imported here."""
    return _told(_imported(_module(published), tuple(sys.path))) is not None


def watched(published: Published) -> dict[str, Any]:
    """Import the module of a plugin in a fresh interpreter; tell what that did."""
    module = _module(published)
    said = _imported(module, tuple(sys.path))
    found = _told(said)
    if found is None:
        fail(
            f"{published.plugin.name}: importing {module} ended or stopped the interpreter "
            f"({said.strip()[-400:] or 'without a word'}): a module must neither exit nor wait when it is imported"
        )
    return found


def _module(published: Published) -> str:
    return published.plugin.target.partition(":")[0]


def _told(said: str) -> dict[str, Any] | None:
    try:
        found: Any = json.loads(said.strip().rpartition("\n")[2])
    except ValueError:
        return None
    return cast(dict[str, Any], found) if isinstance(found, dict) else None


@functools.lru_cache(maxsize=64)
def _imported(module: str, path: tuple[str, ...]) -> str:
    """What a fresh interpreter says of importing *module*: once for all the plugins in it."""
    try:
        done = subprocess.run(  # noqa: S603 - this Python, and a script of ours
            [sys.executable, "-I", str(Path(__file__).with_name("import_watch.py")), module],
            input=json.dumps(path),
            capture_output=True,
            encoding="utf-8",
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {_LIMIT:g} seconds"
    return done.stdout or done.stderr
