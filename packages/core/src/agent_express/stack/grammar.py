"""What may stand in a stack file."""

from __future__ import annotations

from collections.abc import Mapping

from .shapes import Either, Flag, Free, Items, Named, Number, Shape, Table, Text

LIMITS = Table(
    {
        "max_steps": Number("Model calls of one turn.", least=1),
        "timeout": Number("Seconds the whole turn may take.", above=0),
        "max_parallel_tools": Number("Tool calls that run at once.", least=1),
        "max_batch": Number("Tool calls in one answer of the model.", least=1),
        "max_continuations": Number("How often middleware may send the model back to work."),
        "max_output_retries": Number("How often an answer that does not match the output type goes back."),
    },
    name="limits",
    description="What one turn may take.",
)

MODEL = Either(
    (
        Text(ref="model-name"),
        Table(
            {
                "plugin": Text("The provider, or your own code as module:attribute.", ref="model-plugin"),
                "name": Text("What the provider calls it; without a plugin, provider:model."),
                "config": Free("Its settings."),
            },
            name="model",
            hints={"model": "meant 'name'?", "provider": "meant 'plugin'?"},
        ),
    ),
    "The model: a name such as openai:gpt-5, or a provider with its settings.",
)

INSTRUCTIONS = Either(
    (Text(empty=True), Table({"file": Text("Relative to this file.")}, required=("file",))),
    "The first section of the system prompt, or the file that holds it.",
)

_AGENT: Mapping[str, Shape] = {
    "model": MODEL,
    "instructions": INSTRUCTIONS,
    "tools": Items(Text(ref="local"), "Tools of your own code, each as module:attribute."),
    "limits": LIMITS,
}
_AGENT_HINTS = {
    **{key: f"write limits = {{ {key} = ... }}" for key in LIMITS.fields},
    "use": "write [[use]] at the top",
    "middleware": "write [[use]]",
    "system": "meant 'instructions'?",
    "prompt": "meant 'instructions'?",
}

AGENT = Table(
    {"name": Text("What it is called in logs and as a tool."), **_AGENT},
    name="agent",
    description="The agent.",
    hints=_AGENT_HINTS,
)

OVERRIDE = Table(
    {
        "plugin": Text("What stands there instead.", ref="plugin"),
        "enabled": Flag("Whether it is built."),
        "config": Free("Its settings; without a plugin, those that differ."),
    },
    name="override",
    description="What differs for one layer of a bundle.",
)

_ENTRY: Mapping[str, Shape] = {
    "plugin": Text("An installed middleware, or your own code as module:attribute.", ref="plugin"),
    "bundle": Text("An installed bundle, or your own code as module:attribute.", ref="bundle"),
    "enabled": Flag("Whether it is built."),
    "config": Free("Its settings."),
    "without": Items(Text(), "Layers of the bundle that are left out, by name."),
    "override": Named(OVERRIDE, "Layers of the bundle that differ, by name."),
}

USE = Table(
    {**_ENTRY, "name": Text("What it is called; unique in the stack.")},
    name="use",
    description="One layer of the onion, or a bundle of layers. The first is the outermost.",
    hints={"settings": "meant 'config'?", "args": "meant 'config'?", "middleware": "meant 'plugin'?"},
)

CHANGE = Table(_ENTRY, name="change", description="What differs for one entry: config is merged key by key.")
CHANGES = Named(CHANGE, "Entries that differ, by name.")
SEVERAL = Items(USE, "The layers, outermost first.")

AGENTS = Named(
    Table(
        {**_AGENT, "use": SEVERAL},
        name="one-of-several",
        description="An agent of that name.",
        hints={**_AGENT_HINTS, "name": "its name is the one in the header"},
    ),
    "Several agents, by name; the layers at the top then stand around all of them.",
)

PROFILE = Table(
    {
        "agent": AGENT,
        "agents": Named(
            Table({**_AGENT, "use": CHANGES}, name="changed-agent", hints=_AGENT_HINTS), "Agents that differ, by name."
        ),
        "use": CHANGES,
    },
    name="profile",
    description="What differs under this profile.",
)

FILE = Table(
    {
        "agent": AGENT,
        "agents": AGENTS,
        "plugins": Table(
            {
                "allow": Items(Text(), "Only these; patterns over name, distribution and distribution:name."),
                "block": Items(Text(), "None of these; patterns as in allow."),
                "strict": Flag("Whether an ambiguous, incompatible or broken plugin is an error even where unused."),
            },
            name="plugins",
            description="Which plugins may run.",
        ),
        "use": SEVERAL,
        "profile": Named(PROFILE, "What differs by profile."),
    },
    description="A stack of Agent Express: an agent, or several, and the middleware around.",
    hints={
        "model": "write it under [agent]",
        "instructions": "write it under [agent]",
        "tools": "write it under [agent]",
        "profiles": "meant [profile.NAME]?",
        "middleware": "meant [[use]]?",
    },
)
