"""The checkout as data: its packages, their parsed modules, what each imports, and the text files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from releasing import workspace

ROOT = workspace.HERE.root
Where = Literal["module", "typing", "function"]


@dataclass(frozen=True)
class Import:
    """One imported name.

    Attributes:
        module: Absolute, dotted: of `from . import events` in core "agent_express.events" where that is a module.
        name: What is taken from it; "" for `import module`.
        where: When it runs: with the module, in a function, or never (`if TYPE_CHECKING`).
        at: "path:line", for messages.
    """

    module: str
    name: str
    where: Where
    at: str

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Module:
    """One Python file of a package; *name* is dotted, a package's own being its `__init__`."""

    name: str
    path: Path
    siblings: frozenset[str]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    @property
    def relative(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def folder(self) -> str:
        return self.path.parent.relative_to(ROOT).as_posix()

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(self._imports(self.tree, "module"))

    def _imports(self, node: ast.AST, where: Where) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import():
                    for alias in child.names:
                        yield Import(alias.name, "", where, f"{self.relative}:{child.lineno}")
                case ast.ImportFrom():
                    source = self._absolute(child)
                    for alias in child.names:
                        inner = f"{source}.{alias.name}"
                        module, name = (inner, "") if inner in self.siblings else (source, alias.name)
                        yield Import(module, name, where, f"{self.relative}:{child.lineno}")
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    yield from self._imports(child, "function")
                case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                    for statement in child.body:
                        yield from self._imports(ast.Module([statement], []), "typing")
                    for statement in child.orelse:
                        yield from self._imports(ast.Module([statement], []), where)
                case _:
                    yield from self._imports(child, where)

    def _absolute(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".")
        package = parts if self.path.name == "__init__.py" else parts[:-1]
        package = package[: len(package) - statement.level + 1]
        return ".".join([*package, *filter(None, [statement.module])])

    @cached_property
    def public(self) -> frozenset[str]:
        """The names in `__all__`; without one, what it defines itself and does not call private."""
        for node in self.tree.body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                    | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
                ):
                    return frozenset(ast.literal_eval(value))
        return frozenset(name for name in self._defined() if not name.startswith("_"))

    def _defined(self) -> Iterator[str]:
        for node in self.tree.body:
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield name
                case ast.Assign(targets=targets):
                    yield from (target.id for target in targets if isinstance(target, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name


@dataclass(frozen=True)
class Package(workspace.Package):
    """A folder in `packages/`, with its modules."""

    @cached_property
    def modules(self) -> dict[str, Module]:
        paths = {self._dotted(path): path for path in sorted(self.source.rglob("*.py"))}
        return {name: Module(name, path, frozenset(paths)) for name, path in paths.items()}

    def _dotted(self, path: Path) -> str:
        parts = path.relative_to(self.folder / "src").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def imports(self) -> Iterator[Import]:
        return (found for module in self.modules.values() for found in module.imports)


PACKAGES = {path.parent.name: Package(path.parent) for path in sorted(ROOT.glob("packages/*/pyproject.toml"))}
CORE = PACKAGES["core"]
OTHERS = [package for package in PACKAGES.values() if package is not CORE]


def is_third_party(found: Import) -> bool:
    return found.top not in sys.stdlib_module_names and not found.top.startswith("agent_express")


@cache
def files() -> tuple[Path, ...]:
    """Every file that git knows or would take, on disk."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode("utf-8")
    return tuple(path for name in sorted(listed.split("\0")) if name and (path := ROOT / name).is_file())


@cache
def python_files() -> tuple[tuple[str, ast.Module], ...]:
    """(path from the root, parsed) of every Python file."""
    return tuple(
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"), str(path)))
        for path in files()
        if path.suffix == ".py"
    )
