"""What a docstring tells a model: the text, and the descriptions under `Args:`."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Attributes|Notes?):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def parse(doc: str) -> tuple[str, dict[str, str]]:
    """Split *doc*, as `inspect.getdoc` gives it, into its text and the descriptions of its parameters.

    Sections are Google's: a line "Args:" with indented "name: text" or "name (type): text" below; deeper lines go on.
    Other sections are left out of the text.
    """
    text: list[str] = []
    described: dict[str, str] = {}
    section, current, indent = "", "", 0
    for line in doc.splitlines():
        heading = _SECTION.match(line)
        if heading:
            section, current = heading.group(1), ""
        elif line and not line[0].isspace():
            section = ""
            text.append(line)
        elif not section:
            text.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            depth = len(line) - len(line.lstrip())
            found = _PARAMETER.match(line.strip())
            if found and (not current or depth <= indent):
                current, indent = found.group(1), depth
                described[current] = found.group(2).strip()
            elif current:
                described[current] = f"{described[current]} {line.strip()}".strip()
    return "\n".join(text).strip(), described
