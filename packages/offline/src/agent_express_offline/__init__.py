"""The offline model of Agent Express: it follows commands by fixed rules, without a key, a network or a language model.

    from agent_express_offline import OfflineModel
    model = OfflineModel()                          # or by name: "offline:commands"
    model = OfflineModel(faults=["rate-limit"])     # the first call is refused, later ones work

What happens to a request, each layer knowing only those above it:

    reading      the message -> tokens -> commands, and the values and references in them
    filling      a command and a tool's JSON schema -> which value goes to which parameter
    planning     the conversation and the offered tools -> the calls that come next, or a report of each command
    answering    the reports -> words or structured output, and the pieces in which they are sent
    model        the thin rim: settings, faults, the stream
"""

from .entry import create
from .faults import FAULTS, variants
from .model import OfflineModel, respond

__all__ = ["OfflineModel", "create", "respond", "FAULTS", "variants"]
