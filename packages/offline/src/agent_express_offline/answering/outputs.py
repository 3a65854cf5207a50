"""Structured output: the fields of a JSON schema, filled from results and from what the user wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from agent_express.messages import OutputSchema

from ..filling.arguments import assign
from ..filling.conversion import NOTHING
from ..filling.parameters import Parameter, parameters, type_names
from ..filling.schemas import problem
from ..filling.shapes import follow, is_object
from ..planning.plans import Plan
from ..planning.results import Group, Item
from ..planning.taking import take
from ..reading.commands import Command
from ..reading.joining import join
from ..reading.tokens import scan
from ..reading.values import values_of
from ..reading.words import clean, related, stem, stems

_PROSE: Final = frozenset(
    map(stem, ["answer", "summary", "text", "message", "response", "reply", "explanation", "result", "output"])
)
_COUNTS: Final = frozenset(["count", "number", "total", "many"])
_MAX_FIELDS: Final = 500


def structured(plan: Plan, output: OutputSchema, prose: str, today: date | None = None) -> str:
    """The JSON text of an object that fits the schema, or a sentence that says what is lacking.

    Fields come from the newest result that has them, then from what the user wrote, then from *prose* (for a field
    called "answer" or "summary"), then from the schema's default or null.
    """
    prose = _spoken(plan, prose)
    schema = follow(output.schema, output.schema)
    wanted = parameters(output.schema)
    if not is_object(schema):
        return f"I cannot answer as `{clean(output.name)}`: its schema is not an object."
    made, missing = _fill(plan, wanted, prose, today)
    if missing:
        named = ", ".join(f"`{clean(parameter.name)}`" for parameter in missing[:8])
        return f"I cannot answer as `{clean(output.name)}`: neither your message nor a result says {named}."
    found = problem(made, output.schema)
    text = _dump(made)
    if found or text is None:
        return f"I cannot answer as `{clean(output.name)}`: what I found {found or 'is nothing that JSON can hold'}."
    return text


def _spoken(plan: Plan, prose: str) -> str:
    """The answer in words without Markdown: what the one call returned, else the prose without its bold type."""
    called = [report.group for report in plan.reports if report.state == "called" and report.group]
    outcomes = [outcome for group in called for outcome in group.outcomes]
    if len(outcomes) == 1 and isinstance(outcomes[0].value, str) and not outcomes[0].is_error:
        return outcomes[0].value
    return prose.replace("**", "")


def _dump(made: dict[str, Any]) -> str | None:
    try:
        text = json.dumps(made, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError, RecursionError):
        return None
    return text


def _fill(
    plan: Plan, wanted: Sequence[Parameter], prose: str, today: date | None
) -> tuple[dict[str, Any], list[Parameter]]:
    groups = [*_newest_first(plan)]
    made: dict[str, Any] = {}
    for parameter in wanted:
        value = _from_results(parameter, groups)
        if value is not NOTHING:
            made[parameter.name] = value
    made |= _from_text(plan, tuple(each for each in wanted if each.name not in made), today)
    missing: list[Parameter] = []
    for parameter in wanted:
        if parameter.name in made:
            continue
        value = _otherwise(parameter, prose)
        if value is not NOTHING:
            made[parameter.name] = value
        elif parameter.required:
            missing.append(parameter)
    return {parameter.name: made[parameter.name] for parameter in wanted if parameter.name in made}, missing


def _newest_first(plan: Plan) -> Iterator[Group]:
    for report in reversed(plan.reports):
        if report.group is not None and not report.group.failed:
            yield report.group
    if not any(report.state == "called" for report in plan.reports):
        yield from plan.turn.earlier[:1]


# --- from results ---------------------------------------------------------------------------------


def _from_results(parameter: Parameter, groups: Sequence[Group]) -> Any:
    """The value of the newest result that has it by name, else of the newest whose tool is about it."""
    for group in groups:
        for fields in _fields(group):
            for name, value in fields.items():
                if stems(str(name)) == parameter.stems and _fits(value, parameter):
                    return value
    if parameter.is_numeric and not _COUNTS.isdisjoint(parameter.stems):
        listed = next((group for group in groups if group.is_list), None)
        if listed and _fits(len(listed.items), parameter):
            return len(listed.items)
    for group in groups:
        if _is_about(parameter, group) and (value := _of_group(parameter, group)) is not NOTHING:
            return value
    return NOTHING


def _fields(group: Group) -> Iterator[Mapping[str, Any]]:
    for outcome in group.outcomes:
        if not outcome.is_error and is_object(outcome.value):
            yield outcome.value
    if len(group.items) == 1:
        yield group.items[0].fields
    if len(group.outcomes) == 1:
        yield group.outcomes[0].args


def _fits(value: Any, parameter: Parameter) -> bool:
    return problem(value, parameter.schema, parameter.root) is None


def _is_about(parameter: Parameter, group: Group) -> bool:
    names = stems(group.outcomes[0].tool)
    return any(related(word, name) for word in parameter.stems for name in names) or "result" in parameter.stems


def _of_group(parameter: Parameter, group: Group) -> Any:
    if "array" in parameter.types:
        return _array(parameter, group.items[:_MAX_FIELDS])
    if len(group.items) == 1 and not group.is_list:
        return take(group.items[0], parameter)
    return NOTHING


def _array(parameter: Parameter, items: Sequence[Item]) -> Any:
    values = [item.value for item in items]
    if values and _fits(values, parameter):
        return values
    inner = next((branch.get("items") for branch in parameter.branches if "array" in type_names(branch)), None)
    single = parameters({"type": "object", "properties": {parameter.name: inner}})
    taken = [take(item, single[0]) for item in items] if single else []
    kept = [value for value in taken if value is not NOTHING]
    return kept if kept and _fits(kept, parameter) else NOTHING


# --- from the user's words, and otherwise ---------------------------------------------------------


def _from_text(plan: Plan, wanted: tuple[Parameter, ...], today: date | None) -> dict[str, Any]:
    tokens = tuple(token for token in join(scan(plan.turn.text, 400)) if token.kind != "break")
    command = Command("", tokens)
    filled = assign(command, values_of(command, refers=False), wanted, (), today)
    made = {slot.parameter.name: slot.json() for slot in filled.slots if slot.fixed and not _is_prose(slot.parameter)}
    return {parameter.name: made[parameter.name] for parameter in wanted if _is_made(parameter, made)}


def _is_made(parameter: Parameter, made: Mapping[str, Any]) -> bool:
    return parameter.name in made and _fits(made[parameter.name], parameter)


def _is_prose(parameter: Parameter) -> bool:
    return bool(parameter.stems) and parameter.stems[-1] in _PROSE and "string" in parameter.types


def _otherwise(parameter: Parameter, prose: str) -> Any:
    """The answer in words for a field that asks for it, the schema's default, or null."""
    if _is_prose(parameter) and _fits(prose, parameter):
        return prose
    if is_object(parameter.schema) and "default" in parameter.schema:
        default = parameter.schema["default"]
        return default if _fits(default, parameter) else NOTHING
    if parameter.required and parameter.nullable and _fits(None, parameter):
        return None
    if parameter.required and parameter.is_array and _fits([], parameter):
        return []
    return NOTHING
