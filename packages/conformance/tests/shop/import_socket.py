"""Opens a socket when it is imported."""

import socket

from agent_express_shop.flawed import Plain

with socket.socket():
    pass


class OpensASocket(Plain):
    """Come from a module that opens a socket."""
