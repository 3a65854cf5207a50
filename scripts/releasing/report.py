"""What came of the steps: for people while they are made, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from releasing.check import Step
from releasing.workspace import Workspace


def tell(steps: Iterable[Step]) -> list[Step]:
    """Print each step as soon as it is made, and all failures at the end; return the steps."""
    made: list[Step] = []
    for step in steps:
        print(f"{'FAILED' if step.problems else 'ok':6}  {step.name}  ({step.seconds:.1f} s)", flush=True)
        made.append(step)
    for step in made:
        for problem in step.problems:
            print(f"\n{step.name}:\n  {problem.replace(chr(10), chr(10) + '  ')}")
    failed = sum(bool(step.problems) for step in made)
    print(f"\n{len(made)} steps, {failed} failed" if failed else f"\nall {len(made)} steps passed")
    return made


def as_json(workspace: Workspace, steps: Sequence[Step]) -> str:
    """All steps and problems, for programs."""
    told = [
        {"name": step.name, "ok": not step.problems, "seconds": round(step.seconds, 3), "problems": step.problems}
        for step in steps
    ]
    ok = all(not step.problems for step in steps)
    return json.dumps({"version": workspace.core.version, "ok": ok, "steps": told}, indent=2, ensure_ascii=False)
