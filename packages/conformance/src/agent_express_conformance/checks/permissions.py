"""Network, files, other processes: only what the manifest asks for."""

from __future__ import annotations

from agent_express.testing import no_network

from ..audit import listening
from ..failure import fail
from ..probes import Quiet
from ..scene import AGAIN, Scene, question, run
from ..subject import Subject

KNOWN = ("network", "files", "subprocess")


async def permissions(subject: Subject) -> None:
    """It reaches for nothing that it does not declare, from being made to being disposed of."""
    unknown = sorted(subject.permissions - set(KNOWN))
    if unknown:
        fail(f"{subject.name} declares the permission {', '.join(unknown)}; permissions are {', '.join(KNOWN)}")
    await _life(Scene(subject, thing=Quiet("warm-up")))  # what the core imports at first use does not count
    with no_network() as guard, listening() as reached:
        await _life(Scene(subject))
    if guard.refused:
        reached.note("network", f"reach for {guard.refused[0]}")
    for permission in KNOWN:
        done = reached.seen.get(permission)
        if done and permission not in subject.permissions:
            fail(
                f"{subject.name} did {'; '.join(done[:3])} and declares "
                f"{', '.join(sorted(subject.permissions)) or 'no permission'}: declare "
                f'"permissions": ["{permission}"] in the manifest, or leave it'
            )


async def _life(scene: Scene) -> None:
    async with scene.agent, scene.agent.session() as session:
        await run(session, question())
        await run(session, AGAIN)
