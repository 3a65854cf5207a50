"""Whether the same sources give the same bytes, elsewhere and at another time."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.builds import Build, build, last_commit


def check_reproducible(first: Build) -> list[str]:
    """Build again from a copy of the sources, and list the files that came out different."""
    with TemporaryDirectory() as place:
        copy = first.workspace.copy_to(Path(place, "copy"))
        again = build(copy, Path(place, "files"), epoch=last_commit(first.workspace))
        return compare(first.folder, again.folder)


def compare(first: Path, second: Path) -> list[str]:
    """List what differs between two folders of wheels and source distributions, with the parts that do."""
    ours, theirs = ({path.name: path for path in folder.iterdir() if _is_built(path)} for folder in (first, second))
    return [
        *[f"{name} came out of one build alone" for name in sorted(ours.keys() ^ theirs.keys())],
        *[
            f"{name} is different in a second build: {_difference(ours[name], theirs[name])}"
            for name in sorted(ours.keys() & theirs.keys())
            if ours[name].read_bytes() != theirs[name].read_bytes()
        ],
    ]


def _is_built(path: Path) -> bool:
    return path.name.endswith((".whl", ".tar.gz"))


def _difference(first: Path, second: Path) -> str:
    ours, theirs = _parts(first), _parts(second)
    names = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "the order of its parts"


def _parts(path: Path) -> dict[str, tuple[object, ...]]:
    """What an archive says of each part: its date, mode and content."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {part.filename: (part.date_time, part.external_attr, part.CRC) for part in wheel.infolist()}
    with tarfile.open(path) as sdist:
        return {part.name: (part.mtime, part.mode, part.uid, _digest(sdist, part)) for part in sdist.getmembers()}


def _digest(sdist: tarfile.TarFile, part: tarfile.TarInfo) -> str:
    file = sdist.extractfile(part)
    return hashlib.sha256(file.read()).hexdigest() if file else ""
