from collections.abc import Iterator
from pathlib import Path

import pytest
from packages.core.tests.stack_project import Project, project_in


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project with a stack file, and installed packages."""
    with project_in(tmp_path) as project:
        yield project
