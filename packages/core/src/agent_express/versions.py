"""Versions and version ranges, as far as the gate before an import needs them.

The rules are those of the version specifiers of the Python packaging guide (PEP 440). Core does without a library for
them: nothing else here needs one, and every agent would have to install it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Key: TypeAlias = tuple[int, tuple[int, ...], tuple[int, int], tuple[int, int], tuple[int, int]]

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_n1>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_CLAUSE = re.compile(r"(===|~=|==|!=|<=|>=|<|>)\s*([^\s,]+)")
_NEVER, _FINAL, _ABSENT = (-1, 0), (3, 0), (-1, -1)


@lru_cache(maxsize=256)
def fits(version: str, ranges: str) -> bool:
    """Whether *version* lies within *ranges*, such as ">=0.1,<0.2"; a pre-release counts as what it leads up to.

    What is no version, or no range, fits: the gate keeps out what is known not to work, and nothing else.
    """
    found = key(version)
    return found is None or all(_holds(found, operator, wanted) for operator, wanted in _CLAUSE.findall(ranges))


def key(version: str) -> Key | None:
    """What *version* is ordered by; None where it is no version. A local part ("+cpu") is left out."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    release = tuple(int(part) for part in match["release"].split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    dev = (0, int(match["dev_n"] or 0)) if match["dev"] else (1, 0)
    post = (0, int(match["post_n1"] or match["post_n2"] or 0)) if match["post"] else _ABSENT
    if match["pre"]:
        pre = (_PHASES[match["pre"].lower()], int(match["pre_n"] or 0))
    else:
        pre = _NEVER if match["dev"] and not match["post"] else _FINAL
    return int(match["epoch"] or 0), release, pre, post, dev


def _holds(found: Key, operator: str, wanted: str) -> bool:
    if wanted.endswith(".*"):
        within = _starts_with(found, wanted[:-2])
        return not within if operator == "!=" else within
    limit = key(wanted)
    if limit is None:
        return True
    match operator:
        case "==" | "===":
            return found == limit
        case "!=":
            return found != limit
        case ">=":
            return found >= limit
        case "<=":
            return found <= limit
        case ">":
            return found > limit and not _is_post_of(found, limit)
        case "<":
            return found < (limit if _is_pre(limit) else _first_of(limit))
        case _:  # "~=": at least that, and the same up to the last part but one
            return found >= limit and _starts_with(found, _stem(wanted))


def _stem(wanted: str) -> str:
    match = _VERSION.fullmatch(wanted)
    release = match["release"] if match else wanted
    epoch = f"{match['epoch']}!" if match and match["epoch"] else ""
    return epoch + release.rpartition(".")[0]


def _starts_with(found: Key, prefix: str) -> bool:
    match = _VERSION.fullmatch(prefix)
    if match is None:
        return True
    wanted = tuple(int(part) for part in match["release"].split("."))
    release = found[1] + (0,) * (len(wanted) - len(found[1]))
    return found[0] == int(match["epoch"] or 0) and release[: len(wanted)] == wanted


def _first_of(limit: Key) -> Key:
    """The first thing that leads up to a version which is no pre-release: its ".dev0"."""
    epoch, release, pre, post, _ = limit
    return epoch, release, pre if post != _ABSENT else _NEVER, post, (0, 0)


def _is_post_of(found: Key, limit: Key) -> bool:
    """Whether *found* is a post-release of *limit*."""
    if limit[4] != (1, 0):  # nothing comes between 1.dev1 and 1.dev2
        return False
    if limit[3] != _ABSENT:  # 1.post1 is followed by 1.post2.dev0
        return False
    return found[:3] == limit[:3] and found[3] != _ABSENT


def _is_pre(found: Key) -> bool:
    return found[2] != _FINAL or found[4] != (1, 0)
