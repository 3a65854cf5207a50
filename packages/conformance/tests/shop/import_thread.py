"""Starts a thread when it is imported."""

import threading

from agent_express_shop.flawed import Plain

thread = threading.Thread(target=threading.Event().wait, args=(0.01,), name="watchdog")
thread.start()
thread.join()


class StartsAThread(Plain):
    """Come from a module that starts a thread."""
