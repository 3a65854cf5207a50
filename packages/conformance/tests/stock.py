"""What the shop of the tests holds: which middleware it publishes, and what its manifest declares of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_express.describe import describe
from agent_express.errors import PluginError, UseError
from agent_express.references import import_attr
from agent_express.testing.distributions import write_distribution

SOURCES = Path(__file__).with_name("shop")
DIST, PACKAGE = "agent-express-shop", "agent_express_shop"

WELL_BEHAVED: Mapping[str, Mapping[str, Any]] = {
    "Budget": {"example": {"limit": 100_000, "words": ["a", "b"]}},
    "Upper": {},
    "Desk": {},
    "Retry": {"next_many": ["model"], "exempt": {"own-time": "it waits before it tries again"}},
    "Worker": {},
    "Guard": {},
    "Diary": {"permissions": ["files"]},
    "Hurry": {},
    "OneAtATime": {},
    "Cache": {},
    "Redactor": {},
    "Helper": {},
    "Threaded": {},
    "Remembers": {},
    "Stamps": {},
    "Signs": {},
    "HoldsBack": {},
    "Approval": {"exempt": {"lets-through": "it refuses each tool that nobody has allowed"}},
    "hook": {},
}

# The flawed ones and the check that catches each.
FLAWED: Mapping[str, str] = {
    "ExemptFromNothing": "exemptions",
    "ExemptWithoutReason": "exemptions",
    "OpensASocket": "light-import",
    "StartsAProcess": "light-import",
    "StartsAThread": "light-import",
    "LoadsPandas": "light-import",
    "CannotBeImported": "light-import",
    "EndsTheInterpreter": "light-import",
    "NeedsWhatNobodyGives": "settings",
    "RefusesItsExample": "settings",
    "ChangesItsSettings": "settings",
    "LacksNext": "signatures",
    "IsNotAsync": "signatures",
    "one_for_all": "signatures",
    "SaysOtherHooks": "manifest",
    "HidesItsState": "manifest",
    "HasNoManifest": "manifest",
    "NeedsItsManifest": "manifest",
    "DisposesOnce": "lifecycle",
    "OpensOnce": "lifecycle",
    "ForgetsTheFirst": "lifecycle",
    "LeavesHalfAnInit": "lifecycle",
    "CannotBeOpened": "lifecycle",
    "LeavesAThread": "lifecycle",
    "FailsEachTurn": "ordinary-turns",
    "FailsEachModelCall": "ordinary-turns",
    "FailsEachToolCall": "ordinary-turns",
    "FailsAtTheFirstDelta": "ordinary-turns",
    "FailsLater": "ordinary-turns",
    "KeepsWhereNothingCanBe": "ordinary-turns",
    "KeepsWhatDoesNotFit": "ordinary-turns",
    "CallsWhatIsNotThere": "ordinary-turns",
    "StopsEachTurn": "lets-through",
    "StopsTheSecondTurn": "lets-through",
    "RefusesEachTool": "lets-through",
    "AsksAgain": "next-once",
    "CallsNextTwice": "next-once",
    "RetriesModels": "next-once",
    "RepeatsTheTurn": "next-once",
    "NamesNoHook": "next-once",
    "Shouts": "result-passes",
    "ForgetsToReturn": "result-passes",
    "FailsAfterwards": "result-passes",
    "FailsAfterwardsLater": "result-passes",
    "StreamsOtherText": "result-passes",
    "StreamsNothing": "result-passes",
    "Swallows": "exception-passes",
    "Disguises": "exception-passes",
    "StreamSwallows": "exception-passes",
    "IgnoresCancel": "cancel-passes",
    "DisguisesCancel": "cancel-passes",
    "LeavesATask": "cancelled-anywhere",
    "LeavesAGenerator": "cancelled-anywhere",
    "LeavesAStream": "cancelled-anywhere",
    "LosesAFailure": "cancelled-anywhere",
    "LeavesATaskOfTheSession": "cancelled-anywhere",
    "ForgetsWhileItWaitsToRetry": "cancelled-anywhere",
    "DropsTheEnd": "end-passes",
    "DropsTheEndOfTools": "end-passes",
    "GoesOnAfterTheEnd": "end-passes",
    "Whispers": "declared-only",
    "WhispersInTheStream": "declared-only",
    "KeepsInSecret": "declared-only",
    "KeepsInSecretLater": "declared-only",
    "BringsATool": "declared-only",
    "BringsAToolLater": "declared-only",
    "Writes": "permissions",
    "CallsHome": "permissions",
    "CallsHomeLoudly": "permissions",
    "Spawns": "permissions",
    "Reads": "permissions",
    "CallsNextDoor": "permissions",
    "AsksForTheMoon": "permissions",
    "KeepsOnSelf": "sessions-apart",
    "CountsForAll": "sessions-apart",
    "ClosesForAll": "sessions-apart",
    "LooksWhoListens": "run-is-stream",
    "SkipsWhereNobodyListens": "run-is-stream",
    "SpeaksThroughContext": "order-free",
    "LooksAtTheStack": "order-free",
    "TakesItsTime": "own-time",
    "WaitsForNothing": "own-time",
}

_MODULES = {
    "OpensASocket": "import_socket",
    "StartsAProcess": "import_process",
    "StartsAThread": "import_thread",
    "LoadsPandas": "import_heavy",
    "CannotBeImported": "import_broken",
    "EndsTheInterpreter": "import_exit",
}

_DECLARED: Mapping[str, Mapping[str, Any]] = {
    "ExemptFromNothing": {"exempt": {"gravity": "it floats"}},
    "ExemptWithoutReason": {"exempt": {"next-once": " "}},
    "NamesNoHook": {"next_many": ["modle"]},
    "ForgetsWhileItWaitsToRetry": {"next_many": ["model"]},
    "AsksForTheMoon": {"permissions": ["moon"]},
    "RefusesItsExample": {"example": {"limit": 11}},
}

_SILENT = ("HasNoManifest", "NeedsItsManifest")  # the manifest says nothing of them

_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "SaysOtherHooks": {"hooks": ["turn"]},
    "HidesItsState": {"state": []},
}


def name_of(thing: str) -> str:
    """The entry of a class: "shop.leaves-a-task" of LeavesATask."""
    kebab = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in thing)
    return f"shop.{kebab.strip('-').replace('_', '-')}"


def target_of(thing: str) -> str:
    """Where the code of an entry is."""
    module = "wellbehaved" if thing in WELL_BEHAVED else _MODULES.get(thing, "flawed")
    return f"{PACKAGE}.{module}:{thing}"


def write_shop(folder: Path) -> None:
    """Install the shop in *folder*, which must be on `sys.path`; its manifest is written from the code."""
    sources = {f"{PACKAGE}/{path.name}": path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.py"))}
    (folder / "pandas.py").write_text('"""A stand-in for a heavy module."""\n', encoding="utf-8")
    for path, text in {f"{PACKAGE}/__init__.py": "", **sources}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    things = [*WELL_BEHAVED, *FLAWED]
    write_distribution(
        folder,
        DIST,
        entry_points={"middleware": {name_of(thing): target_of(thing) for thing in things}},
        modules=sources,
        manifest={
            "contract": 1,
            "entries": {name_of(thing): _entry(thing, folder) for thing in things if thing not in _SILENT},
        },
        package=PACKAGE,
    )


def _entry(thing: str, folder: Path) -> dict[str, Any]:
    declared = dict(WELL_BEHAVED.get(thing, {})) | dict(_DECLARED.get(thing, {}))
    if thing == "Diary":
        declared["example"] = {"path": str(folder / "diary.txt")}
    try:
        if thing == "EndsTheInterpreter":
            raise PluginError("nobody here imports that")
        entry = describe(name_of(thing), "middleware", import_attr(target_of(thing)), declared)
    except (PluginError, UseError):
        entry = {"group": "middleware", "summary": "It cannot be described.", **declared}
    return entry | dict(_WRITTEN.get(thing, {}))
