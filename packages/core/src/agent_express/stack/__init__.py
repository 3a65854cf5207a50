"""The stack file: an agent, or several, and the middleware around, as TOML.

    stack = load_stack("agent.toml")
    async with stack.agent() as agent: ...

What happens to a file, each module knowing only those above it:

    positions   the text -> line and column of every key and value
    document    the file -> data with places
    shapes      kinds of values: each checks one, and has a JSON schema
    grammar     what may stand in the file, in shapes
    profiles    what differs under a name, laid over the rest
    reading     data -> the typed file, and everything that is wrong in it
    making      a name and settings -> the object, of a plugin or of own code
    layers      the entries -> one onion; bundles, too
    build       the typed file -> agents, and the App that holds them
    lockfile    what a stack is made of, and whether that has changed
    load        all of it
    schema      one JSON schema for editors
"""

from __future__ import annotations

from .document import Document, read_document
from .file import AgentTable, ModelTable, OverrideTable, StackFile, UseTable
from .load import build_stack, load_stack
from .loaded import Stack, StackLayer, StackTool
from .lockfile import drift, lock, lock_path
from .making import Models
from .places import Places
from .positions import KeyPath, Position, Positions, find_positions
from .problems import StackProblem
from .reading import read_stack
from .schema import stack_schema

__all__ = [
    # read and build
    "load_stack", "Stack", "StackLayer", "StackTool", "StackProblem",
    # other forms than TOML
    "read_stack", "build_stack", "Models", "Places", "Position", "Positions", "KeyPath",
    "find_positions", "read_document", "Document",
    # as written
    "StackFile", "AgentTable", "UseTable", "OverrideTable", "ModelTable",
    # the lock
    "lock", "lock_path", "drift",
    # editors
    "stack_schema",
]  # fmt: skip
