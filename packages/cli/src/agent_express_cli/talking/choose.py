"""Which model answers: the flag, the environment, a provider with a key, else the offline model with a note."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

VARIABLE = "AGENT_EXPRESS_MODEL"
OFFLINE = "offline:commands"


class Provider(NamedTuple):
    """A provider that a key in the environment can choose.

    Attributes:
        name: As it stands before the colon, and in the name of its package.
        key: The environment variable that holds its key.
        model: What is called when nobody names a model.
    """

    name: str
    key: str
    model: str


PROVIDERS = (
    Provider("openai", "OPENAI_API_KEY", "openai:gpt-5"),
    Provider("anthropic", "ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5"),
)
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model by name.

    Attributes:
        model: "provider:model".
        note: What the user should know of it; empty where he chose it himself.
    """

    model: str
    note: str = ""


def choose(flag: str | None, env: Mapping[str, str], installed: Collection[str]) -> Choice:
    """Choose a model.

    Args:
        flag: What `--model` said.
        env: The environment.
        installed: The providers that can be used, as they stand before the colon.
    """
    named = flag or env.get(VARIABLE, "").strip()
    if named:
        return Choice(named)
    with_key = [each for each in PROVIDERS if env.get(each.key, "").strip()]
    for each in with_key:
        if each.name in installed:
            return Choice(each.model, f"{each.model} answers, because {each.key} is set; --model names another")
    return Choice(OFFLINE, _offline_note(with_key))


def _offline_note(with_key: list[Provider]) -> str:
    told = "no language model is set up, so the offline model answers: it follows commands, word for word"
    if with_key:
        lacking = with_key[0]
        return f"{told}; {lacking.key} is set, what is missing is: pip install agent-express-{lacking.name}"
    keys = " or ".join(each.key for each in PROVIDERS)
    return f"{told}; for a real one set {keys}, or name one with --model or {VARIABLE}"
