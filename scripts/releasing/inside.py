"""Runs in the environment that is looked at, with nothing but what Python brings: `python -I inside.py DIST...`.

Writes one JSON object: what is installed, where the modules of each DIST came from, and what could not be imported.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from importlib import metadata


def main(dists: list[str]) -> None:
    """Look around, import *dists* and load their entry points; write down what came of it."""
    places: dict[str, str] = {}
    failures: list[str] = []
    for dist in dists:
        try:
            module = importlib.import_module(dist.replace("-", "_"))
            places[dist] = str(module.__file__)
        except BaseException as error:  # a module that exits is broken too
            failures.append(f"{dist} cannot be imported: {type(error).__name__}: {error}")
            continue
        failures += load(dist)
    print(json.dumps({"installed": installed(), "places": places, "failures": failures}))


def load(dist: str) -> list[str]:
    """Load each entry point of *dist*; say which cannot be."""
    failures: list[str] = []
    for point in metadata.distribution(dist).entry_points:
        try:
            point.load()
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
            failures.append(f"{dist}: the entry point {point.name!r} in {point.group} names {point.value}: {told}")
    return failures


def installed() -> dict[str, list[str]]:
    """Each distribution here and what it requires."""
    return {re.sub(r"[-_.]+", "-", dist.name).lower(): list(dist.requires or ()) for dist in metadata.distributions()}


if __name__ == "__main__":
    main(sys.argv[1:])
