"""From the data of a stack file to its types, with everything that can be wrong in the file itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import StackError
from ..messages import Limits
from ..plugins import Policy
from ..references import is_reference
from .file import UNLIMITED, AgentTable, ModelTable, OverrideTable, StackFile, UseTable
from .grammar import FILE, LIMITS
from .places import Places
from .positions import KeyPath
from .problems import Report
from .profiles import Raw, apply_profile, table
from .words import header, meant


def read_stack(
    data: Mapping[str, Any], where: str | Path, *, profile: str = "", places: Places | None = None
) -> StackFile:
    """Check *data* and say it in types; for stacks that are written in another form than TOML.

    Args:
        data: As `tomllib` reads a stack file.
        where: Named in errors.
        profile: The one to apply; "" for none.
        places: Where each value stands.

    Raises:
        StackError: All that is wrong.
    """
    report = Report(places or Places())
    file = read_reporting(_with_text_keys(data), report, profile)
    if report.problems:
        raise StackError(Path(where), report.sorted())
    return file


def read_reporting(data: Mapping[str, Any], report: Report, profile: str) -> StackFile:
    """Say *data* in types; what is wrong is reported and left out, and *report* learns where the profile stands."""
    FILE.check(dict(data), (), report)
    names = tuple(table(data, "profile"))
    plain: Raw = {key: value for key, value in data.items() if key != "profile"}
    variants = {"": (plain, {}), **{name: apply_profile(data, name, report) for name in names}}
    if profile not in variants:
        advice = meant(profile, names) if names else "write [profile.NAME]"
        report.add(f"there is no profile {profile!r}", ("profile",), advice=advice)
        profile = ""
    chosen, moved = variants[profile]
    report.places = dataclasses.replace(report.places, moved=moved)
    mentions = dict.fromkeys(each for variant, _ in variants.values() for each in _mentions(variant))
    return dataclasses.replace(
        _Reader(chosen, report).file(),
        profile=profile,
        profiles=names,
        mentions=tuple(mentions),
        places=report.places,
    )


def _with_text_keys(data: Any) -> Any:
    """The same with keys as texts: YAML has other ones."""
    if isinstance(data, Mapping):
        return {str(key): _with_text_keys(each) for key, each in data.items()}
    return [_with_text_keys(each) for each in data] if isinstance(data, list) else data


class _Reader:
    """Reads one variant of the stack; what is of the wrong kind was reported before, and is passed over."""

    def __init__(self, data: Raw, report: Report) -> None:
        self._data, self._report = data, report

    def file(self) -> StackFile:
        layers = tuple(self._uses(self._data, ("use",)))
        if "agents" in self._data:
            return StackFile(self._several(), is_app=True, use=layers, policy=self._policy())
        agent = self._single(layers)
        return StackFile({agent.name: agent}, policy=self._policy())

    def _several(self) -> dict[str, AgentTable]:
        if "agent" in self._data:
            advice = "write the agent as one more [agents.NAME]"
            self._report.add("[agent] and [agents] stand in one file", ("agent",), advice=advice, at_key=True)
        if self._data["agents"] == {}:
            self._report.add("[agents] holds no agent", ("agents",), advice="write [agents.NAME]")
        return {
            str(name): self._agent(raw, str(name), path, tuple(self._uses(raw, (*path, "use"))))
            for name, raw in _tables(self._data["agents"])
            for path in [("agents", name)]
        }

    def _single(self, layers: tuple[UseTable, ...]) -> AgentTable:
        if "agent" not in self._data:
            self._report.add("the stack has no agent", advice='write [agent] with model = "openai:gpt-5"')
        raw = table(self._data, "agent")
        return self._agent(raw, text(raw, "name") or "agent", ("agent",), layers)

    def _agent(self, raw: Raw, name: str, path: KeyPath, layers: tuple[UseTable, ...]) -> AgentTable:
        if "model" not in raw and (path != ("agent",) or isinstance(self._data.get("agent"), dict)):
            self._report.add(f"{header(path)} has no model", path, advice='write model = "openai:gpt-5"')
        limits = {key: value for key, value in table(raw, "limits").items() if _is_limit(key, value)}
        return AgentTable(
            name,
            model=self._model(raw, (*path, "model")),
            instructions=text(raw, "instructions"),
            instructions_file=text(table(raw, "instructions"), "file"),
            tools=tuple(_texts(raw, "tools")),
            limits=Limits(**limits),
            use=layers,
            path=path,
        )

    def _model(self, raw: Raw, path: KeyPath) -> ModelTable | None:
        if isinstance(raw.get("model"), dict) and not {"plugin", "name"} & raw["model"].keys():
            self._report.add(f"{header(path)} has neither a plugin nor a name", path, advice='write plugin = "openai"')
        return model_of(raw, path)

    def _uses(self, raw: Raw, path: KeyPath) -> Iterator[UseTable]:
        for place, each in _tables(raw.get("use")):
            yield self._use(each, (*path, place))

    def _use(self, raw: Raw, path: KeyPath) -> UseTable:
        kinds = [key for key in ("plugin", "bundle") if key in raw]
        if len(kinds) != 1:
            held = "both a plugin and a bundle" if kinds else "neither a plugin nor a bundle"
            self._report.add(f"{header(path)} has {held}", path, advice="name one of them")
        for key in ("without", "override"):
            if key in raw and kinds == ["plugin"]:
                advice = "take it away, or write bundle instead of plugin"
                self._report.add(f"{key!r} in {header(path)} is for bundles", (*path, key), advice=advice, at_key=True)
        return UseTable(
            plugin=text(raw, "plugin"),
            bundle=text(raw, "bundle") if kinds == ["bundle"] else "",
            name=text(raw, "name"),
            enabled=raw.get("enabled") is not False,
            config=table(raw, "config"),
            without=tuple(_texts(raw, "without")),
            override={
                str(name): _override(each, (*path, "override", name)) for name, each in _tables(raw.get("override"))
            },
            path=path,
        )

    def _policy(self) -> Policy:
        held = table(self._data, "plugins")
        return dataclasses.replace(
            UNLIMITED,
            allow=tuple(filter(None, _texts(held, "allow"))),
            block=tuple(filter(None, _texts(held, "block"))),
            strict=held.get("strict") is True,
        )


def model_of(raw: Raw, path: KeyPath = ()) -> ModelTable | None:
    """The model that the table of an agent names; None where it names none."""
    held = table(raw, "model")
    made = ModelTable(text(raw, "model") or text(held, "name"), text(held, "plugin"), table(held, "config"), path)
    return made if made.name or made.plugin else None


def _override(raw: Raw, path: KeyPath) -> OverrideTable:
    return OverrideTable(
        plugin=text(raw, "plugin"),
        enabled=raw.get("enabled") is not False,
        config=table(raw, "config") if "config" in raw else None,
        path=path,
    )


def text(held: Mapping[str, Any], key: str) -> str:
    """The text at *key*; "" where there is none."""
    found = held.get(key)
    return found if isinstance(found, str) else ""


def _texts(held: Mapping[str, Any], key: str) -> Iterator[str]:
    """The texts in the list at *key*; "" for what is none, so that each keeps its place."""
    found = held.get(key)
    if isinstance(found, list):
        yield from (each if isinstance(each, str) else "" for each in found)


def _tables(found: Any) -> Iterator[tuple[int | str, Raw]]:
    """The tables in a list with their indexes, or in a table with their keys."""
    pairs: Iterable[tuple[int | str, Any]] = ()
    if isinstance(found, list):
        pairs = enumerate(found)
    elif isinstance(found, dict):
        pairs = cast(Raw, found).items()
    for key, each in pairs:
        if isinstance(each, dict):
            yield key, cast(Raw, each)


def _references(config: Any) -> Iterator[tuple[str, str]]:
    """What in settings may be own code: a text written "module:attr"."""
    if isinstance(config, str) and is_reference(config):
        yield "settings", config
    elif isinstance(config, dict | list):
        inner: Iterable[Any] = config.values() if isinstance(config, dict) else config
        for each in inner:
            yield from _references(each)


def _is_limit(key: str, value: Any) -> bool:
    shape = LIMITS.fields.get(key)
    return shape is not None and shape.fits(value)


def _mentions(data: Raw) -> Iterator[tuple[str, str]]:
    """What one variant names, as (group, text)."""
    agents = [table(data, "agent"), *(raw for _, raw in _tables(data.get("agents")))]
    for raw in agents:
        model = model_of(raw)
        if model is not None:
            yield "models", model.plugin or model.name.partition(":")[0]
            yield from _references(model.config)
        yield from (("tools", each) for each in _texts(raw, "tools") if each)
    for raw in [data, *agents]:
        for _, entry in _tables(raw.get("use")):
            parts = [entry, *(each for _, each in _tables(entry.get("override")))]
            yield from (("middleware", text(part, "plugin")) for part in parts if text(part, "plugin"))
            yield from (each for part in parts for each in _references(table(part, "config")))
            if text(entry, "bundle"):
                yield "bundles", text(entry, "bundle")
