"""The offline model of Agent Express: it follows commands by fixed rules, without a key, a network or a language model.

from agent_express_offline import OfflineModel
model = OfflineModel()                          # or by name: "offline:commands"
model = OfflineModel(faults=["rate-limit"])     # the first call is refused, later ones work
"""

from .faults import FAULTS, variants
from .model import OfflineModel, create, respond

__all__ = ["OfflineModel", "create", "respond", "FAULTS", "variants"]
