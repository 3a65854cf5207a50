"""Answers: plain prose, in Markdown, made of what the tools returned and of what was not done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..filling.parameters import Parameter
from ..filling.shapes import is_list, is_object
from ..planning.matching import Offer
from ..planning.plans import Plan, Report
from ..planning.results import Group, Item, Outcome, plain
from ..reading.tokens import Token
from ..reading.words import clean, shorten, split

MAX_LINES: Final = 12
MAX_ITEMS_SHOWN: Final = 10
_LINE: Final = 160
_INLINE: Final = 200

WHO: Final = (
    "I am the offline model of Agent Express: a small fixed program, not a language model. I read your sentences as "
    "commands, call the tools I am offered, and report what they return. I cannot chat, reason or make things up."
)


def answer(plan: Plan) -> str:
    """What is said once there is nothing more to call."""
    parts = [_chat(plan)] if plan.chat and (plan.chat == "help" or not plan.reports) else []
    parts += [_report(report, plan.offers) for report in plan.reports if report.state in ("called", "recalled")]
    parts += _refusals(plan)
    if plan.turn.unseen:
        parts.append(f"I read text only, so I did not look at {_series(_counted(plan.turn.unseen))}.")
    if plan.cut:
        parts.append("Your message is longer than I read: I took its first 32 commands, at most its first 4,000 words.")
    return "\n\n".join(part for part in parts if part) or _nothing(plan)


def _chat(plan: Plan) -> str:
    """A greeting is answered in full once; later, as with thanks, in a line."""
    if plan.chat == "greeting" and plan.turn.begun:
        return "I am still the offline model, a fixed program: give me a command, or say “help”."
    return introduction(plan.offers)


def introduction(offers: Sequence[Offer]) -> str:
    """Who is speaking, and what the offered tools are."""
    if not offers:
        return f"{WHO}\n\nNo tools are offered to me here, so there is nothing I can do yet."
    lines = [f"- {_signature(offer)}" for offer in offers[:30]]
    if len(offers) > 30:
        lines.append(f"- and {len(offers) - 30} more")
    return f"{WHO}\n\nThe tools I can call here:\n\n" + "\n".join(lines)


def _signature(offer: Offer) -> str:
    """A tool as `name(required, [optional])` with the first sentence of its description."""
    named = [each.name if each.required else f"[{each.name}]" for each in offer.parameters[:8]]
    described = clean(offer.tool.description).strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
    text = f"`{clean(offer.tool.name)}({', '.join(map(clean, named))})`"
    return f"{text}: {shorten(described, _LINE)}" if described else text


def _nothing(plan: Plan) -> str:
    if plan.turn.text.strip():
        return f"I found no command in your message.\n\n{introduction(plan.offers)}"
    return introduction(plan.offers)


def _counted(unseen: Iterable[str]) -> list[str]:
    names = list(unseen)
    return [f"{name} ({names.count(name)} times)" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def _series(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# --- what was done --------------------------------------------------------------------------------


def _report(report: Report, offers: Sequence[Offer]) -> str:
    if report.state == "recalled":
        return _recalled(report)
    group = report.group
    if group is None or not group.outcomes:
        return ""
    text = _single(group) if len(group.outcomes) == 1 else _several(group)
    if report.unused:
        text += f"\n\nI found no place for {_series([_quote(value) for value in report.unused[:5]])}."
    return text


def _single(group: Group) -> str:
    outcome = group.outcomes[0]
    title = _title(outcome)
    if outcome.is_error:
        return f"{title} failed: {shorten(plain(outcome.value), 300) or 'no reason was given'}"
    if group.is_list:
        return _listing(title, [item.value for item in group.items])
    return _shown(title, outcome.value)


def _several(group: Group) -> str:
    """Calls of one tool, one line each."""
    title = f"**{_label(group.outcomes[0].tool)}**, {len(group.outcomes)} times:"
    shared = _shared(group.outcomes)
    lines = [f"- {_args(outcome.args, shared) or 'again'}: {_brief(outcome)}" for outcome in group.outcomes]
    return "\n".join([title, *lines])


def _shared(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """The arguments that are the same in every call, and so tell nothing apart."""
    first = outcomes[0].args
    return frozenset(
        name for name in first if all(name in each.args and each.args[name] == first[name] for each in outcomes)
    )


def _brief(outcome: Outcome) -> str:
    if outcome.is_error:
        return f"failed: {shorten(plain(outcome.value), _LINE) or 'no reason was given'}"
    if is_list(outcome.value):
        return f"{len(outcome.value)} found"
    if is_object(outcome.value):
        return shorten(_fields(outcome.value), _LINE)
    text = plain(outcome.value).strip()
    lines = text.count("\n") + 1
    return (
        shorten(text, _LINE) if lines == 1 else f"{lines} lines, beginning “{shorten(text.split(chr(10), 1)[0], 60)}”"
    )


def _title(outcome: Outcome) -> str:
    told = _args(outcome.args, frozenset())
    return f"**{_label(outcome.tool)}**" + (f" ({told})" if told else "")


def _label(tool: str) -> str:
    words = " ".join(split(clean(tool)[:80]))
    return words[:1].upper() + words[1:] or clean(tool)


def _args(args: Mapping[str, Any], hidden: frozenset[str]) -> str:
    shown = [(name, value) for name, value in args.items() if name not in hidden]
    told = [
        shorten(plain(value), 60) if isinstance(value, str) else f"{clean(name)} {shorten(plain(value), 60)}"
        for name, value in shown[:4]
    ]
    return ", ".join(told) + (", …" if len(shown) > 4 else "")


def _listing(title: str, values: Sequence[Any]) -> str:
    if not values:
        return f"{title}: nothing found."
    lines = [f"- {_line(value)}" for value in values[:MAX_ITEMS_SHOWN]]
    if len(values) > MAX_ITEMS_SHOWN:
        lines.append(f"- and {len(values) - MAX_ITEMS_SHOWN} more")
    return "\n".join([f"{title}: {len(values)} found", *lines])


def _line(value: Any) -> str:
    return shorten(_fields(value) if is_object(value) else plain(value), _LINE)


def _fields(value: Mapping[str, Any]) -> str:
    """An object as "name value, name value", nested values left out where there are plain ones."""
    flat = {name: each for name, each in value.items() if not is_object(each) and not is_list(each)}
    return ", ".join(f"{clean(str(name))} {plain(each)}" for name, each in list((flat or value).items())[:8])


def _shown(title: str, value: Any) -> str:
    if is_object(value):
        fields = [f"- {clean(str(name))}: {shorten(plain(each), _LINE)}" for name, each in list(value.items())[:12]]
        more = [f"- and {len(value) - 12} more fields"] if len(value) > 12 else []
        return "\n".join([f"{title}:", *fields, *more]) if fields else f"{title}: done."
    text = plain(value).strip()
    if not text or value is None:
        return f"{title}: done."
    if "\n" not in text and len(text) <= _INLINE:
        return f"{title}: {text}"
    return _excerpt(title, text)


def _excerpt(title: str, text: str) -> str:
    """The first lines of a long text, fenced so that nothing in it is read as Markdown."""
    lines = text.splitlines()
    head = [line[:_LINE] + ("…" if len(line) > _LINE else "") for line in lines[:MAX_LINES]]
    fence = "```"
    while any(fence in line for line in head):
        fence += "`"
    count = f"{len(lines):,} lines" if len(lines) > 1 else f"{len(text):,} characters"
    rest = f", of which the first {MAX_LINES}" if len(lines) > MAX_LINES else ""
    return "\n".join([f"{title}: {count}{rest}", "", fence, *head, fence])


def _recalled(report: Report) -> str:
    """An answer out of an earlier result, without a call."""
    items = report.chosen
    if "many" in report.command.words:
        return f"There {'is' if len(items) == 1 else 'are'} {len(items)}."
    if len(items) == 1:
        return _item(items[0])
    return "\n".join(f"- {_line(item.value)}" for item in items[:MAX_ITEMS_SHOWN])


def _item(item: Item) -> str:
    told = _args(item.args, frozenset()) if not is_object(item.value) else ""
    return f"{told}: {_line(item.value)}" if told else _line(item.value)


# --- what was not done ----------------------------------------------------------------------------


def _refusals(plan: Plan) -> list[str]:
    said = [
        _refusal(report) for report in plan.reports if report.state in ("lost", "lacking", "negated", "conditional")
    ]
    if forbidden := [report for report in plan.reports if report.state == "forbidden"]:
        why = f", because {plan.unmet}" if plan.unmet else ", because no tool may be called in this step"
        said.append(f"Not done: {_series([_said(report) for report in forbidden])}{why}.")
    elif plan.unmet:
        said.append(f"{plan.unmet[:1].upper()}{plan.unmet[1:]}.")
    if unclear := [report for report in plan.reports if report.state == "unclear"]:
        said.append(_unclear(unclear, plan.offers))
    return said


def _refusal(report: Report) -> str:
    match report.state:
        case "lost":
            return f"I did not do {_said(report)}: {report.why}."
        case "lacking":
            name = clean(report.offer.tool.name) if report.offer else ""
            return (
                f"For {_said(report)} I would call `{name}`, but it needs {_needs(report.missing)}.{_no_clock(report)}"
            )
        case "negated":
            return f"As you said, I left this alone: {_said(report)}."
        case _:
            return f"I do not follow conditions, so I left this alone: {_said(report)}."


def _no_clock(report: Report) -> str:
    """What to say where a day was given by a word that only a calendar can read."""
    days = [token.text for token in report.command.tokens if token.kind == "day" or _is_relative(token)]
    dated = any(parameter.sense in ("date", "moment") for parameter in report.missing)
    return f" I have no calendar, so I cannot tell what day “{days[0]}” is." if days and dated else ""


def _is_relative(token: Token) -> bool:
    """Whether a day with a time is a day without a date, as "tomorrow at noon"."""
    return token.kind == "moment" and not isinstance(token.value, str) and token.value[0] is None


def _needs(missing: Sequence[Parameter]) -> str:
    return _series([_need(parameter) for parameter in missing])


def _need(parameter: Parameter) -> str:
    formats = {
        "date": "a date such as 2026-03-01",
        "moment": "a day and a time such as 2026-03-01 14:30",
        "time": "a time such as 14:30",
    }
    hint = formats.get(parameter.sense, "") or shorten(parameter.description, 80).rstrip(".")
    return f"`{clean(parameter.name)}`" + (f" ({hint})" if hint else "")


def _unclear(reports: Sequence[Report], offers: Sequence[Offer]) -> str:
    said = f"I did not understand {_series([_said(report) for report in reports[:5]])}"
    if len(reports) > 5:
        said += f" and {len(reports) - 5} more"
    if not offers:
        return f"{said}: I am a fixed program that only calls tools, and no tools are offered to me."
    names = [f"`{clean(offer.tool.name)}`" for offer in offers[:12]]
    if len(names) == 1:
        return f"{said}: it does not fit the one tool I can call, {names[0]}."
    more = [f"{len(offers) - 12} more"] if len(offers) > 12 else []
    return f"{said}: it fits none of the tools I can call, which are {_series([*names, *more])}."


def _said(report: Report) -> str:
    return _quote(report.command.text)


def _quote(text: str) -> str:
    return f"“{shorten(text, 100)}”"
