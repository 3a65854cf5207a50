"""Test tools: models without a provider, record and replay, assertions, and a guard around the network.

Nothing here needs pytest, except `agent_express.testing.plugin`, which nobody imports but pytest.
"""

from __future__ import annotations

from .errors import CassetteError, MismatchError, NetworkError, ScriptError
from .events import assert_events, like, names, text_of
from .harness import Harness
from .history import check_history
from .leaks import no_leaks
from .network import no_network
from .recording import Recorder, Replayer, cassette
from .replies import Say, call
from .scripted import FunctionModel, ScriptedModel
from .scrubbing import Scrubber
from .snapshots import assert_snapshot, snapshot

__all__ = [
    # one middleware alone
    "Harness",
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
    # assertions
    "assert_events",
    "assert_snapshot",
    "check_history",
    "like",
    "names",
    "no_leaks",
    "snapshot",
    "text_of",
    # the network
    "no_network",
    # errors
    "CassetteError",
    "MismatchError",
    "NetworkError",
    "ScriptError",
]
