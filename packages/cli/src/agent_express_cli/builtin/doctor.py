"""What `plugins doctor` looks at where no other plugin adds to it."""

from __future__ import annotations

import traceback

from agent_express.errors import PluginError
from agent_express.registry import Registry

from ..checkups import commands, editables, keys, plugins, policy, requirements, versions
from ..hosting.checks import Check
from ..hosting.hookspecs import hookimpl


class Doctor:
    """Check versions, requirements, plugins, keys, the policy and editable installs."""

    @hookimpl(tryfirst=True)
    def doctor(self, registry: Registry) -> list[Check]:
        """Check what every installation has."""
        looked_at = (versions, requirements, plugins, editables, keys, policy, commands)
        found: list[Check] = []
        for look in looked_at:
            name = look.__name__.rpartition(".")[2]
            try:
                found += look.check(registry)
            except PluginError as error:
                found.append(Check(name, "fail", str(error)))
                if registry.policy.is_strict:  # then one that is broken stands in everybody's way
                    break
            except Exception as error:  # one look that fails is not to hide what the others see
                found.append(Check(name, "fail", f"{type(error).__name__}: {error}", details=traceback.format_exc()))
        return found
