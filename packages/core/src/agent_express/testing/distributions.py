"""Install a distribution made for a test: its real metadata and its sources in a folder, without a build.

write_distribution(tmp_path, "agent-express-foo", entry_points={"middleware": {"foo.bar": "foo:Bar"}},
                   modules={"foo/__init__.py": "class Bar: ..."})
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..manifest import FILE


def write_distribution(
    folder: Path,
    name: str,
    version: str = "1.0.0",
    *,
    entry_points: Mapping[str, Mapping[str, str]] | None = None,
    modules: Mapping[str, str] | None = None,
    requires: Sequence[str] = (),
    manifest: Mapping[str, Any] | None = None,
    package: str = "",
    editable: Path | None = None,
) -> Path:
    """Write the metadata and the sources of a distribution, as an installer leaves them; return the metadata's folder.

    Args:
        folder: A folder of `sys.path`; made where it is missing.
        name: The distribution's name.
        version: Its version.
        entry_points: By group, "middleware" for "agent_express.middleware", names and targets.
        modules: Sources by their path in the folder, "foo/__init__.py".
        requires: Lines of `Requires-Dist`.
        manifest: What agent_express.json holds; it lies beside the package's `__init__.py`.
        package: The package of the manifest; that of the first module where it is left out.
        editable: Where the sources go instead; *folder* gets a .pth file that points there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = editable or folder
    files = dict(modules or {})
    if manifest is not None:
        place = package or next(iter(files), name.replace("-", "_")).partition("/")[0].removesuffix(".py")
        files[f"{place}/{FILE}"] = json.dumps(manifest)
    for path, text in files.items():
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).write_text(text, encoding="utf-8")
    info = folder / f"{re.sub('[-_.]+', '_', name)}-{version}.dist-info"
    info.mkdir()
    head = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {each}" for each in requires),
    ]
    written = {"METADATA": "\n".join(head) + "\n", "entry_points.txt": _entry_points(entry_points or {}), "RECORD": ""}
    if editable is not None:
        editable.mkdir(parents=True, exist_ok=True)
        (folder / f"_{info.stem.partition('-')[0]}.pth").write_text(f"{editable}\n", encoding="utf-8")
        written["direct_url.json"] = json.dumps({"url": editable.as_uri(), "dir_info": {"editable": True}})
    for file, text in written.items():
        (info / file).write_text(text, encoding="utf-8")
    return info


def _entry_points(groups: Mapping[str, Mapping[str, str]]) -> str:
    lines: list[str] = []
    for group, entries in groups.items():
        lines.append(f"[agent_express.{group}]")
        lines += [f"{name} = {target}" for name, target in entries.items()]
    return "\n".join(lines) + "\n"
