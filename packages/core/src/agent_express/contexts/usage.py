"""What a turn or a session has used."""

from __future__ import annotations

from ..messages import Usage


class TurnUsage:
    """What a turn or a session has used: a running sum over all model calls, nested and internal ones included.

    Attributes:
        model_calls: Answers received.
        attempts: Calls that went out, failed ones included.
        unreported: Answers that came without usage.
        tool_calls: Tool bodies that ran.
        failures: Model calls and tool bodies that failed.
    """

    __slots__ = ("_reported", "attempts", "failures", "model_calls", "parent", "tool_calls", "unreported")

    def __init__(self, parent: TurnUsage | None = None) -> None:
        self._reported: list[Usage] = []  # summed when somebody asks
        self.model_calls = self.attempts = self.unreported = self.tool_calls = self.failures = 0
        self.parent = parent

    @property
    def tokens(self) -> Usage:
        """The sum of what the providers reported."""
        if len(self._reported) != 1:
            self._reported = [sum(self._reported, Usage())]
        return self._reported[0]

    @property
    def input_tokens(self) -> int:
        """Tokens sent; what was not reported is not in it."""
        return self.tokens.input_tokens or 0

    @property
    def output_tokens(self) -> int:
        """Tokens received; what was not reported is not in it."""
        return self.tokens.output_tokens or 0

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received; what was not reported is not in it."""
        return self.tokens.total_tokens or 0

    def count_attempt(self) -> None:
        """A model call goes out; counted here and in all that enclose it, like the others."""
        each: TurnUsage | None = self
        while each is not None:
            each.attempts += 1
            each = each.parent

    def count_tool_call(self) -> None:
        """The body of a tool begins."""
        each: TurnUsage | None = self
        while each is not None:
            each.tool_calls += 1
            each = each.parent

    def count_failure(self) -> None:
        """A model call or the body of a tool failed."""
        each: TurnUsage | None = self
        while each is not None:
            each.failures += 1
            each = each.parent

    def add(self, usage: Usage) -> None:
        """Add the tokens of one answer, here and in all that enclose it."""
        known = usage.input_tokens is not None or usage.output_tokens is not None
        each: TurnUsage | None = self
        while each is not None:
            each.model_calls += 1
            if known:
                each._reported.append(usage)
                if len(each._reported) > 100:
                    each._reported = [each.tokens]
            else:
                each.unreported += 1
            each = each.parent

    def __repr__(self) -> str:
        shown = ("model_calls", "attempts", "tool_calls", "failures", "unreported")
        return f"TurnUsage({self.tokens}, {', '.join(f'{name}={getattr(self, name)}' for name in shown)})"
