"""The option --no-skips of the root's conftest.py, run as CI runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

SKIPS = {
    "by a call": "import pytest\ndef test_one():\n    pytest.skip('no server')\n",
    "by a mark": "import pytest\n@pytest.mark.skip(reason='no server')\ndef test_one():\n    assert True\n",
    "as a file": "import pytest\npytest.importorskip('no_such_module_anywhere')\n",
}


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "conftest.py", folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", *options, folder]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("content", list(SKIPS.values()), ids=list(SKIPS))
def test_a_skipped_test_fails_where_every_test_must_run(tmp_path: Path, content: str) -> None:
    (tmp_path / "test_sample.py").write_text(content, encoding="utf-8")
    run = run_pytest(tmp_path, "--no-skips")
    assert run.returncode != 0
    assert "was skipped, and --no-skips runs every test" in run.stdout


@pytest.mark.parametrize("content", list(SKIPS.values()), ids=list(SKIPS))
def test_a_skipped_test_is_no_failure_without_the_option(tmp_path: Path, content: str) -> None:
    (tmp_path / "test_sample.py").write_text(f"{content}\n", encoding="utf-8")
    (tmp_path / "test_other.py").write_text("def test_other():\n    assert True\n", encoding="utf-8")
    run = run_pytest(tmp_path)
    assert run.returncode == 0, run.stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_one():\n    assert False\n", encoding="utf-8"
    )
    run = run_pytest(tmp_path, "--no-skips")
    assert run.returncode == 0, run.stdout
    assert "1 xfailed" in run.stdout
