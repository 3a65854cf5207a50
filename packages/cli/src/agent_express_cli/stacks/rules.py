"""The house rules of a stack, as data: who stands where, or with whom, and what goes wrong otherwise.

The order they keep is the guide of `roles.GUIDE`; a rule says it only where breaking it hurts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from .roles import RECORDS_CONTENT

Names: TypeAlias = tuple[str, ...]


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Something gets past a guard, leaks, or cannot work."""
    WARNING = "warning"
    """It works, and costs more, or tells less, than it seems to."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Who has a role of *who* stands outside of who has one of *whom*.

    Attributes:
        id: What the rule is called.
        who: Roles, names, entry points or areas.
        whom: Likewise.
        why: What goes wrong otherwise; one sentence.
        severity: How bad that is.
    """

    id: str
    who: Names
    whom: Names
    why: str
    severity: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Needs:
    """Who has a role of *who* is not to stand in a stack where nobody has one of *whom*."""

    id: str
    who: Names
    whom: Names
    why: str
    severity: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Alone:
    """A stack has one layer with a role of *who*, not several."""

    id: str
    who: Names
    why: str
    severity: Severity = Severity.WARNING


Rule: TypeAlias = Outside | Needs | Alone

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES: tuple[Rule, ...] = (
    Outside(
        "trace-outermost",
        ("trace",),
        ("auth", "rate-limit", "concurrency", "timeout", "input-guard", "output-guard", "budget", "retry", "fallback"),
        "what a layer further out refuses, cuts off or tries again is missing from the trace, and so is its time",
    ),
    Needs(
        "records-content-needs-redactor",
        (RECORDS_CONTENT,),
        ("redactor",),
        "what users and tools say is written down as it is, with the addresses, numbers and keys in it",
        ERROR,
    ),
    Outside(
        "auth-outside-who-goes-by-user",
        ("auth",),
        ("rate-limit", "concurrency", "checkpoint", "budget", "permissions", "approval", "memory", "response-cache"),
        "a layer further out goes by ctx.user_id before anybody has checked it: users could meet each other's data, "
        "limits and permissions",
        ERROR,
    ),
    Outside(
        "rate-limit-outside-what-it-protects",
        ("rate-limit", "concurrency"),
        ("input-guard", "tools", "memory", "context-window", "router"),
        "a layer further out does its work, with searches and model calls of its own, for messages that the limit "
        "then refuses: the load that the limit is there to keep away comes through",
        ERROR,
    ),
    Outside(
        "rate-limit-outside-retry",
        ("rate-limit",),
        ("retry", "fallback"),
        "each try counts against the user's limit, and what the limit refuses is tried again at once",
    ),
    Outside(
        "concurrency-outside-timeout",
        ("concurrency",),
        ("timeout",),
        "waiting for a free slot uses up the time limit, so that under load turns end before they have begun",
    ),
    Outside(
        "timeout-outside-retry",
        ("timeout",),
        ("retry", "fallback"),
        "the limit starts anew with each try: three tries may take three times as long, and the waits between them "
        "count nowhere",
    ),
    Outside(
        "checkpoint-outside-approval",
        ("checkpoint",),
        ("approval", "permissions"),
        "a question parks the turn on its way out; a checkpoint further in has been left by then and does not save "
        "that somebody was asked",
        ERROR,
    ),
    Needs(
        "approval-needs-checkpoint",
        ("approval",),
        ("checkpoint",),
        "a turn that waits for a person is lost when the process ends",
        NOTE,
    ),
    Outside(
        "redactor-outside-who-keeps-text",
        ("redactor",),
        ("memory", "response-cache", "context-window", "router", "tools"),
        "a layer further out is given the text before it is masked, and keeps it or sends it on; changes flow inwards "
        "only",
        ERROR,
    ),
    Outside(
        "guard-outside-memory",
        ("input-guard",),
        ("memory",),
        "memory has learnt the message by the time the guard refuses it, and will bring it up again",
        ERROR,
    ),
    Outside(
        "guard-outside-other-answers",
        ("output-guard",),
        ("retry", "fallback", "response-cache"),
        "an answer that comes from another try, another model or the cache goes past the guard, or the guard's "
        "refusal counts as a failure and is tried again",
        ERROR,
    ),
    Outside(
        "budget-outside-response-cache",
        ("budget",),
        ("response-cache",),
        "an answer from the cache goes past the budget: a session that has spent it goes on being answered",
        ERROR,
    ),
    Outside(
        "budget-outside-own-calls",
        ("budget",),
        ("memory", "context-window", "router"),
        "a layer further out calls models of its own before the budget is asked: a spent budget goes on being spent",
    ),
    Outside(
        "approval-outside-who-runs-tools",
        ("approval", "permissions"),
        ("tools",),
        "a layer that runs calls itself, as a sandbox or an MCP client does, does not hand them on: nobody further in "
        "is asked",
        ERROR,
    ),
    Outside(
        "approval-outside-retry",
        ("approval", "permissions"),
        ("retry",),
        "each try of a tool asks again: a person is shown the same question several times",
    ),
    Alone(
        "retry-once",
        ("retry",),
        "their tries multiply: three within three are nine calls, with the waits of both",
    ),
    Outside(
        "fallback-outside-retry",
        ("fallback",),
        ("retry",),
        "each try of the outer goes through all models of the inner, so the first model is asked again after the last",
        NOTE,
    ),
    Outside(
        "context-window-inside-who-adds",
        ("memory", "todos", "tools"),
        ("context-window",),
        "what is added after the history was cut counts for nothing: the request can be too long all the same",
    ),
    Outside(
        "router-inside-context-window",
        ("context-window", "memory"),
        ("router",),
        "the model is chosen by a request that is not yet the one that is sent",
        NOTE,
    ),
    Outside(
        "prompt-cache-inside-who-changes-the-prompt",
        ("memory", "todos", "tools", "context-window", "router"),
        ("prompt-cache",),
        "a prompt cache marks where the part ends that stays the same; a layer further in that changes it makes each "
        "call pay for the whole prompt again",
    ),
    Outside(
        "response-cache-innermost",
        ("memory", "todos", "tools", "context-window", "router", "fallback"),
        ("response-cache",),
        "a response cache looks its answer up by the request as it is there: two requests that differ by what is added "
        "or chosen further in get one answer, also those of two users",
        ERROR,
    ),
)


def rule(id: str) -> Rule | None:
    """The rule of that name."""
    return next((each for each in RULES if each.id == id), None)
