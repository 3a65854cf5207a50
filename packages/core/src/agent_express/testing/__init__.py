"""Test tools: models without a provider, record and replay, assertions, and a guard around the network.

Nothing here needs pytest, except `agent_express.testing.plugin`, which nobody imports but pytest.
"""

from __future__ import annotations

from .errors import CassetteError, MismatchError, NetworkError, ScriptError
from .network import no_network
from .recording import Recorder, Replayer, cassette
from .replies import Say, call
from .scripted import FunctionModel, ScriptedModel
from .scrubbing import Scrubber

__all__ = [
    # models
    "FunctionModel",
    "Say",
    "ScriptedModel",
    "call",
    # record and replay
    "Recorder",
    "Replayer",
    "Scrubber",
    "cassette",
    # the network
    "no_network",
    # errors
    "CassetteError",
    "MismatchError",
    "NetworkError",
    "ScriptError",
]
