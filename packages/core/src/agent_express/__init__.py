"""Agent Express: one middleware interface, one onion.

from agent_express import Agent, Middleware

async with Agent("openai:gpt-5").use(MyMiddleware()) as agent:
    print(await agent.run("hello"))
"""

from .agent import Agent
from .answer import Answer
from .app import App
from .contexts import AgentContext, ModelContext, SessionContext, ToolContext, TurnContext
from .errors import ExpressError, ToolError, TurnAbortedError, TurnParkedError
from .events import End, Event, ReasoningDelta, Restarted, TextDelta, ToolCalled, ToolReturned, TurnEnded
from .messages import Limits, Message, ModelRequest, ModelResponse, ToolCall, ToolResult, Usage
from .middleware import Middleware, named
from .onion import Events, Next
from .order import Order
from .session import Session
from .state import private, reduce, scope
from .tools import Tool, tool

__all__ = [
    # run
    "Agent", "App", "Session", "Answer", "Limits",
    # write
    "Middleware", "Next", "Events", "Order", "named", "reduce", "scope", "private",
    # contexts
    "AgentContext", "SessionContext", "TurnContext", "ModelContext", "ToolContext",
    # stream
    "Event", "End", "TextDelta", "ReasoningDelta", "ToolCalled", "ToolReturned", "Restarted", "TurnEnded",
    # say
    "Message", "ModelRequest", "ModelResponse", "ToolCall", "ToolResult", "Usage",
    # tools
    "tool", "Tool",
    # errors most caught
    "ExpressError", "TurnAbortedError", "TurnParkedError", "ToolError",
]  # fmt: skip
