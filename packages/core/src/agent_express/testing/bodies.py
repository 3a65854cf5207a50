"""Tools whose body a test decides.

A body gives a value, raises an exception instance, or is a function of the arguments, sync or async.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..tools import Tool, tool


def made_up_tool(name: str, args: Mapping[str, Any], returns: object) -> Tool:
    """A tool that takes the arguments in *args*, of any type, and gives what *returns* says."""
    body: Any = _body(returns)
    kinds = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=Any) for each in args]
    body.__signature__ = inspect.Signature(kinds)
    body.__annotations__ = dict.fromkeys(args, Any)
    return tool(name=name, description="Made up for a test.")(body)


def with_body(original: Tool, returns: object) -> Tool:
    """*original* with its schema, its flags and its own middleware, and another body."""
    signature = copy.copy(original._signature)
    signature.kind = "async"
    return Tool(_body(returns), signature, original.definition, original.flags, original.use)


def _body(returns: object) -> Callable[..., Any]:
    async def body(**values: Any) -> Any:
        if isinstance(returns, BaseException):
            raise returns
        result = returns(**values) if callable(returns) else returns
        return await result if inspect.isawaitable(result) else result

    return body
