"""What the test tools report; each is an `ExpressError`, and an `AssertionError` where a test has failed.

ScriptError        the script does not fit the requests: a failed test
MismatchError      a replayed request is not the recorded one: a failed test
CassetteError      a file of recorded traffic cannot be read
NetworkError       something in a test wanted to talk to the network
"""

from __future__ import annotations

from ..errors import ExpressError


class ScriptError(ExpressError, AssertionError):
    """A scripted model was asked for what its script does not hold."""


class MismatchError(ExpressError, AssertionError):
    """A request was replayed that nobody recorded."""


class CassetteError(ExpressError):
    """A file of recorded traffic is missing, damaged, or of another version."""


class NetworkError(ExpressError, ConnectionRefusedError):
    """A real network call in a test; an `OSError` too, so that clients clean up as they would for a dead network."""
