"""Every error of the framework, in one tree.

    ExpressError                      whatever the framework itself reports
    ├── UseError                      the agent was put together wrongly; raised before anything runs
    │   ├── OrderError                two middleware stand in an order that one of them forbids
    │   ├── UnknownModelError         no model of that name; says what is there and what to install
    │   ├── MissingPackageError       a third-party package is not installed; names the install command
    │   ├── PluginError               a plugin cannot be used
    │   │   ├── UnknownPluginError    no plugin of that name; says what is near and what to install
    │   │   ├── AmbiguousPluginError  two distributions claim the name; says how to write which one
    │   │   ├── BlockedPluginError    the policy forbids it
    │   │   ├── IncompatiblePluginError built for another core, or for another contract
    │   │   ├── BrokenPluginError     importing or calling it failed; the cause is what it raised
    │   │   ├── ManifestError         its agent_express.json cannot be read
    │   │   └── SecretError           a secret that its settings refer to is not there
    │   ├── SettingsError             settings that do not fit, field by field
    │   └── StackError                a stack file that does not fit, with line and column
    ├── HookError                     a middleware broke the contract of its hook
    │   ├── NextCalledTwiceError      next() while it runs, or after it succeeded
    │   ├── NextForgottenError        next() was neither awaited nor replaced by an answer
    │   ├── MissingEndError           a streaming hook ended without End
    │   ├── WrongResultError          a hook returned the wrong type
    │   └── TooLateError              deny or skip after the call had begun; input or user after they were logged
    ├── InputError                    what was said to the agent is empty, or no store can hold it
    ├── StateError                    an undeclared field, a wrong value, a field with two owners
    ├── EventError                    an event nobody declared, or one that JSON cannot hold
    ├── SessionError
    │   ├── SessionBusyError          another turn is running
    │   ├── SessionClosedError        the session was closed, or one of its hooks ended
    │   └── SessionForbiddenError     the session belongs to another user
    ├── TurnError                     the turn ended without an answer
    │   ├── TurnAbortedError          a middleware said stop
    │   ├── TurnTimeoutError          the turn's time limit has passed
    │   ├── TurnParkedError           the answer was read while the turn waits for a decision
    │   └── OutputError               the model's answer never matched the output type
    ├── ToolError                     a tool failed; its hooks may catch and retry
    └── ModelError                    a provider failed: `retryable`, `retry_after`, `status`
        ├── RateLimitError            too many requests (retryable)
        ├── ProviderUnavailableError  overloaded, 5xx, no connection, a stream that broke off (retryable)
        ├── ModelTimeoutError         the provider did not answer in time (retryable)
        ├── AuthenticationError       key missing, refused, or without the permission
        ├── BadRequestError           the provider does not take this request
        │   ├── ContextOverflowError  the request is longer than the model's context window
        │   └── UnsupportedError      a setting or a part that this model lacks
        └── ContentFilterError        the provider refused for its own policy

Inside the onion `Aborted` and `Parked` travel as `Signal`, a BaseException, so that
`except Exception` in a hook does not meet them. Callers never see a signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ExpressError(Exception):
    """Whatever the framework itself reports."""


class UseError(ExpressError):
    """The agent was put together wrongly."""


class OrderError(UseError):
    """Two middleware stand in an order that one of them forbids."""


class UnknownModelError(UseError):
    """No model of that name can be found."""


class MissingPackageError(UseError):
    """A third-party package is not installed."""


class PluginError(UseError):
    """A plugin cannot be used."""


class UnknownPluginError(PluginError):
    """No installed package offers a plugin of that name."""


class AmbiguousPluginError(PluginError):
    """Two distributions claim the same name."""


class BlockedPluginError(PluginError):
    """The policy of the environment or of the stack file forbids the plugin."""


class IncompatiblePluginError(PluginError):
    """The plugin was built for another version of the core, or for another contract."""


class BrokenPluginError(PluginError):
    """Importing or calling the plugin failed; the cause is what it raised."""


class ManifestError(PluginError):
    """A manifest that cannot be read, or that lacks what it must say."""


class SecretError(PluginError):
    """A secret that settings refer to is not there."""


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """One setting that does not fit.

    Attributes:
        path: Where it stands: keys and positions, from the settings inwards; empty for the settings as a whole.
        message: What was found and what was expected.
    """

    path: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.message}" if self.path else self.message


class SettingsError(UseError):
    """Settings that do not fit.

    Attributes:
        plugin: Whose they are.
        problems: What is wrong, all of it.
    """

    def __init__(self, plugin: str, problems: Sequence[SettingsProblem]) -> None:
        super().__init__(f"{plugin}: {'; '.join(map(str, problems))}")
        self.plugin, self.problems = plugin, tuple(problems)


class StackError(UseError):
    """A stack file that does not fit.

    Attributes:
        path: The file.
        problems: What is wrong, all of it; each has a message, a line and a column.
    """

    def __init__(self, path: Path, problems: Sequence[Any]) -> None:
        super().__init__("\n".join(f"{_place(path, problem)}: {problem}" for problem in problems))
        self.path, self.problems = path, tuple(problems)


def _place(path: Path, problem: Any) -> str:
    return f"{path}:{problem.line}:{problem.column}" if problem.line else str(path)


class HookError(ExpressError):
    """A middleware broke the contract of its hook."""


class NextCalledTwiceError(HookError):
    """`next()` was called while it ran, or after it had succeeded."""


class NextForgottenError(HookError):
    """A hook neither awaited `next()` nor gave an answer of its own."""


class MissingEndError(HookError):
    """A streaming hook ended without yielding `End`."""


class WrongResultError(HookError):
    """A hook returned something else than its level asks for."""


class TooLateError(HookError):
    """`deny` or `skip_call` after the call had begun; the input, or who is talking, after it was logged."""


class InputError(ExpressError, ValueError):
    """What was said to the agent is empty, or no store can hold it."""


class StateError(ExpressError):
    """An undeclared state field, a value that does not validate, or a field with several owners."""


class EventError(ExpressError):
    """An event that nobody declared, or that JSON cannot hold."""


class SessionError(ExpressError):
    """The session cannot do what was asked."""


class SessionBusyError(SessionError):
    """Another turn is running in this session."""


class SessionClosedError(SessionError):
    """The session was closed, or one of its session hooks ended or failed."""


class SessionForbiddenError(SessionError):
    """The session belongs to another user."""


class TurnError(ExpressError):
    """The turn ended without an answer."""


class TurnAbortedError(TurnError):
    """A middleware stopped the turn.

    Attributes:
        reason: Why, as the middleware put it.
        by: The middleware's name; "core" where the core itself stopped.
    """

    def __init__(self, reason: str, by: str = "core") -> None:
        super().__init__(f"{by}: {reason}")
        self.reason, self.by = reason, by


class TurnTimeoutError(TurnError):
    """The turn did not end within its time limit."""


class TurnParkedError(TurnError):
    """The answer of a parked turn was read."""


class OutputError(TurnError):
    """The model's answer did not match the output type, after every allowed try."""


class ToolError(ExpressError):
    """A tool failed. Hooks around the call may catch it; uncaught, it becomes the call's error result.

    Attributes:
        tool: The tool's name.
        error: What the tool raised.
    """

    def __init__(self, tool: str, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.tool, self.error = tool, error


class ModelError(ExpressError):
    """A provider failed.

    Attributes:
        retryable: Whether the same request may succeed later.
        retry_after: Seconds the provider asks to wait; None where it does not say.
        status: The HTTP status, where there was one.
    """

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        if retryable is not None:
            self.retryable = retryable
        self.retry_after, self.status = retry_after, status


class RateLimitError(ModelError):
    """The provider refuses for now: too many requests or tokens."""

    retryable = True


class ProviderUnavailableError(ModelError):
    """The provider is overloaded, cannot be reached, or broke off its stream."""

    retryable = True


class ModelTimeoutError(ModelError):
    """The provider did not answer in time."""

    retryable = True


class AuthenticationError(ModelError):
    """The key is missing, refused, or may not use this model."""


class BadRequestError(ModelError):
    """The provider does not take this request."""


class ContextOverflowError(BadRequestError):
    """The request is longer than the model's context window."""


class UnsupportedError(BadRequestError):
    """The model lacks a setting or cannot read a part of the request."""


class ContentFilterError(ModelError):
    """The provider refused the request or cut the answer for its own policy."""


class Signal(BaseException):
    """Control flow inside the onion; never reaches a caller.

    Attributes:
        by: The middleware that sent it: the first layer the signal left.
    """

    by: str | None = None


def repeated(signal: Signal) -> Signal:
    """A copy to raise again: only the one that was raised first is signed by the layer it leaves."""
    copy = type(signal)(*signal.args)
    copy.by = signal.by or "core"
    return copy


class Aborted(Signal):
    """The turn is to end now, without an answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Parked(Signal):
    """The turn is to wait for a decision."""
