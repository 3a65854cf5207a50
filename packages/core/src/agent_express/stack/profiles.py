"""Profiles: what differs under a name, laid over the rest of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from .positions import KeyPath
from .problems import Report
from .words import meant

Raw = dict[str, Any]
Moves = dict[KeyPath, KeyPath]


def apply_profile(data: Mapping[str, Any], name: str, report: Report) -> tuple[Raw, Moves]:
    """Lay the profile *name* over *data*: keys replace keys, limits and config are merged key by key.

    Args:
        data: The stack as written; what in it is of the wrong kind is passed over.
        name: Of a profile that is there.
        report: Told of entries that the profile changes and that are not there.

    Returns:
        The stack under the profile, and for each path that came from the profile where it is written.
    """
    profile, source, moves = table(table(data, "profile"), name), ("profile", name), Moves()
    made: Raw = {key: value for key, value in data.items() if key != "profile"}
    if "agent" in profile:
        made["agent"] = _agent(table(data, "agent"), table(profile, "agent"), ("agent",), (*source, "agent"), moves)
    if "use" in profile:
        made["use"] = _entries(data.get("use"), table(profile, "use"), ("use",), (*source, "use"), moves, report)
    for agent in table(profile, "agents"):
        target, origin = ("agents", agent), (*source, "agents", agent)
        agents = table(data, "agents")
        if agent not in agents:
            report.add(f"profile {name!r} changes the agent {agent!r}, and there is none", origin,
                       advice=meant(agent, agents), at_key=True)  # fmt: skip
            continue
        change = table(table(profile, "agents"), agent)
        laid = _agent(table(agents, agent), {k: v for k, v in change.items() if k != "use"}, target, origin, moves)
        if "use" in change:
            laid["use"] = _entries(
                laid.get("use"), table(change, "use"), (*target, "use"), (*origin, "use"), moves, report
            )
        made["agents"] = {**table(made, "agents"), agent: laid}
    return made, moves


def table(held: Mapping[str, Any], key: str) -> Raw:
    """The table at *key*; an empty one where there is none."""
    found = held.get(key)
    return cast(Raw, found) if isinstance(found, dict) else {}


def _agent(base: Raw, change: Raw, target: KeyPath, source: KeyPath, moves: Moves) -> Raw:
    made = _laid(base, change, target, source, moves)
    if isinstance(change.get("limits"), dict):
        made["limits"] = _laid(
            table(base, "limits"), table(change, "limits"), (*target, "limits"), (*source, "limits"), moves
        )
        moves.pop((*target, "limits"), None)
    if not base:
        moves[target] = source
    return made


def _laid(base: Raw, change: Raw, target: KeyPath, source: KeyPath, moves: Moves) -> Raw:
    moves.update({(*target, key): (*source, key) for key in change})
    return {**base, **change}


def _entries(given: Any, changes: Raw, target: KeyPath, source: KeyPath, moves: Moves, report: Report) -> list[Any]:
    entries: list[Any] = list(given) if isinstance(given, list) else []
    for name in changes:
        place = find_entry(entries, name, (*source, name), report)
        if place is not None:
            entries[place] = _entry(entries[place], table(changes, name), (*target, place), (*source, name), moves)
    return entries


def _entry(base: Raw, change: Raw, target: KeyPath, source: KeyPath, moves: Moves) -> Raw:
    """The entry as changed; another plugin or bundle starts from settings of its own."""
    if any(key in change and change[key] != base.get(key) for key in ("plugin", "bundle")):
        base = {key: base[key] for key in ("name", "enabled") if key in base}
    made = _laid(base, change, target, source, moves)
    for key in ("config", "override"):
        if key in base and isinstance(change.get(key), dict):
            made[key] = _laid(table(base, key), table(change, key), (*target, key), (*source, key), moves)
            moves.pop((*target, key), None)
    return made


def find_entry(entries: Iterable[Any], name: str, path: KeyPath, report: Report) -> int | None:
    """The place of the entry called *name*; None, and reported, where there is none or more than one."""
    names = [entry_names(each) for each in entries]
    places = [place for place, known in enumerate(names) if name in known]
    if len(places) == 1:
        return places[0]
    if places:
        report.add(
            f"{len(places)} entries are called {name!r}", path, advice="give them a name = of their own", at_key=True
        )
    else:
        known = dict.fromkeys(each[-1] for each in names if each)
        report.add(f"no entry is called {name!r}", path, advice=meant(name, known), at_key=True)
    return None


def entry_names(entry: Any) -> tuple[str, ...]:
    """What a `[[use]]` can be called: its name, or else its plugin or bundle, in full and in short."""
    if not isinstance(entry, dict):
        return ()
    held = cast(Raw, entry)
    given = held.get("name")
    if isinstance(given, str) and given:
        return (given,)
    text = held.get("plugin") or held.get("bundle")
    return tuple(dict.fromkeys((text, text.rpartition(":")[2], short_name(text)))) if isinstance(text, str) else ()


def short_name(text: str) -> str:
    """What a middleware made from *text* is called, going by custom: "cost-cap" of "guards.cost-cap"."""
    last = text.rpartition(":")[2].rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", last).lower()
