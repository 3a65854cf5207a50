"""The catalogue: a page of the documentation that lists the plugins of all packages, written from their manifests."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_express.manifest import FILE, ManifestEntry, read_manifest
from releasing.workspace import HERE, Package, Workspace

PAGE = Path("docs/catalogue.md")

_TITLES = {
    "middleware": "Middleware",
    "bundles": "Bundles",
    "models": "Models",
    "stores": "Stores",
    "adapters": "Adapters",
    "skills": "Skills",
    "hooks": "The command line's",
}
_HEAD = """# Catalogue

The plugins of this repository's own packages, written by `scripts/manifests` from what each package says of itself.
`agent-express plugins list` shows those that are installed, of whoever; `agent-express plugins show NAME` all of one.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; with `--check` say instead whether it is as the manifests are."""
    page, text = HERE.root / PAGE, catalogue(HERE)
    if "--check" not in (sys.argv[1:] if arguments is None else arguments):
        page.write_text(text, encoding="utf-8")
    elif not page.is_file() or page.read_text(encoding="utf-8") != text:
        print(f"{PAGE.as_posix()} is not as the manifests are: run scripts/manifests", file=sys.stderr)
        return 1
    return 0


def catalogue(workspace: Workspace) -> str:
    """The page of all packages in *workspace*."""
    found = [each for package in workspace.packages.values() for each in _entries(package)]
    parts = [_HEAD]
    for group, title in _TITLES.items():
        rows = [_row(package, entry) for package, entry in sorted(found, key=lambda each: each[1].name)
                if entry.group == group]  # fmt: skip
        if rows:
            parts.append(f"## {title}\n\n| plugin | package | what it does | |\n|---|---|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def _entries(package: Package) -> Iterator[tuple[Package, ManifestEntry]]:
    path = package.source / FILE
    for entry in read_manifest(path).entries.values() if path.is_file() else ():
        yield package, entry


def _row(package: Package, entry: ManifestEntry) -> str:
    summary = entry.summary.replace("|", "\\|")
    return f"| `{entry.name}` | `{package.dist}` | {summary} | {', '.join(_notes(entry))} |\n"


def _notes(entry: ManifestEntry) -> Iterator[str]:
    """What somebody who chooses looks at first."""
    yield from (f"`{hook}`" for hook in entry.hooks)
    if entry.streaming:
        yield "streaming"
    yield from entry.permissions
    yield entry.stability


if __name__ == "__main__":
    sys.exit(main())
