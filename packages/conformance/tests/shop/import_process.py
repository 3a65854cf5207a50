"""Starts a process when it is imported."""

import subprocess
import sys

from agent_express_shop.flawed import Plain

subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)


class StartsAProcess(Plain):
    """Come from a module that starts a process."""
