"""What `plugins doctor` finds: one check, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """Say how something stands.

    Attributes:
        name: What was looked at, "python" or "plugin guards.cost-cap".
        status: "ok", "warn" (it works, but somebody should know) or "fail" (something asked for cannot work).
        message: What was found, one line.
        advice: What to do about it; "" where there is nothing to do.
        details: Lines that are shown where they are asked for, such as a traceback.
    """

    name: str
    status: Status
    message: str
    advice: str = ""
    details: str = ""
