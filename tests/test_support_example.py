"""The help desk in `examples/support`: a stack file that runs, is in order, and stands in the README as a picture."""

from __future__ import annotations

import json
import subprocess
import sys

from checkout import ROOT

STACK = "examples/support/agent.toml"
PICTURE = ROOT / "docs" / "onion.svg"


def command(*args: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-X", "utf8", "-m", "agent_express_cli", *args]
    return subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


def test_the_help_desk_answers_masks_and_refuses() -> None:
    done = command("run", "--stack", STACK, "Where is parcel 77? Refund 90 euros for parcel 12")
    assert done.returncode == 0
    assert "Parcel 77 is at your neighbour's, [e-mail]." in done.stdout
    assert "more than 50 euros are refunded by a person" in done.stdout
    assert "example.org" not in done.stdout + done.stderr


def test_its_profile_switches_the_rate_limit_off() -> None:
    layers = json.loads(command("stack", "show", STACK, "--profile", "dev", "--json").stdout)["layers"]
    assert [layer["name"] for layer in layers if not layer["enabled"]] == ["rate-limit"]


def test_its_layers_stand_in_order() -> None:
    done = command("stack", "check", STACK, "--strict", "--json")
    assert done.returncode == 0
    assert [found["rule"] for found in json.loads(done.stdout)["findings"]] == ["not-locked"]


def test_the_picture_in_the_docs_is_that_of_the_help_desk() -> None:
    drawn = command("stack", "show", STACK, "--svg", "-")
    assert drawn.returncode == 0
    again = f"draw it again: agent-express stack show {STACK} --svg docs/onion.svg"
    assert PICTURE.read_text(encoding="utf-8") == drawn.stdout, again
