"""Check, number and describe a release: `scripts/release`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from releasing import api, bump, check, notes, report
from releasing.commands import CommandError
from releasing.fragments import check_fragments
from releasing.versions import VersionError
from releasing.workspace import HERE, Workspace

OK, FAILED, WRONG = 0, 1, 2
"""Exit codes: all is well; something does not pass; the command was not understood."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what was asked for, and return the exit code."""
    options = _options(arguments)
    workspace = Workspace(options.root)
    try:
        match options.command:
            case "check":
                return _check(workspace, as_json=options.json)
            case "bump":
                return _bump(workspace, options.version, dry_run=options.dry_run)
            case "notes":
                return _notes(workspace, options)
            case _:
                return _api(workspace)
    except (VersionError, CommandError, notes.NotesError, bump.DirtyError) as error:
        return _fail([str(error)])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/release", description="Check, number and describe a release.")
    parser.add_argument("--root", type=Path, default=HERE.root, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="build all packages, and see whether the wheels are fit for use")
    checking.add_argument("--json", action="store_true", help="all steps and problems as JSON, at the end")
    bumping = commands.add_parser("bump", help="set the version of all packages, their ranges and the lock")
    bumping.add_argument("version", help="such as 0.2.0; or minor, or patch, for the next one")
    bumping.add_argument("--dry-run", action="store_true", help="show what would change")
    noting = commands.add_parser("notes", help="show what the changelog will say of this version")
    how = noting.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="write it into the changelog, and remove the fragments")
    how.add_argument("--check", action="store_true", help="only see whether all fragments are well-formed")
    commands.add_parser("api", help="list what breaks for users since the last release and is not in the changelog")
    return parser.parse_args(arguments)


def _check(workspace: Workspace, *, as_json: bool) -> int:
    made = list(check.steps(workspace)) if as_json else report.tell(check.steps(workspace))
    if as_json:
        print(report.as_json(workspace, made))
    return FAILED if any(step.problems for step in made) else OK


def _bump(workspace: Workspace, wanted: str, *, dry_run: bool) -> int:
    if not dry_run:
        bump.refuse_dirty(workspace)
    changed = bump.plan(workspace, wanted)
    if dry_run:
        print("\n".join(bump.diff(workspace, changed)))
    else:
        bump.write(workspace, changed)
        print(f"wrote {', '.join(path.as_posix() for path in changed)}")
    return OK


def _notes(workspace: Workspace, options: argparse.Namespace) -> int:
    if options.check:
        return _fail(problems) if (problems := check_fragments(workspace)) else OK
    if options.write:
        notes.write(workspace)
        print(f"wrote {notes.CHANGELOG.as_posix()}")
    else:
        print(notes.draft(workspace))
    return OK


def _api(workspace: Workspace) -> int:
    tag = api.last_release(workspace)
    if tag is None:
        print("no release is tagged yet (v0.1.0, say): nothing to compare with")
        return OK
    if problems := api.check_api(workspace, tag):
        return _fail([*problems, api.ADVICE])
    print(f"no break since {tag} that the changelog does not tell of")
    return OK


def _fail(problems: Sequence[str]) -> int:
    print("\n".join(problems), file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
