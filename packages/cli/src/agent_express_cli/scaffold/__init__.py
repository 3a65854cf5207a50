"""What `new` and `plugins new` write: names, templates and the files made of them.

Pure but for `write`, which puts the files on the disk.
"""

from .kinds import Kind
from .names import Names, package_names, project_names
from .render import About, render
from .write import Written, write

__all__ = ["About", "Kind", "Names", "Written", "package_names", "project_names", "render", "write"]
