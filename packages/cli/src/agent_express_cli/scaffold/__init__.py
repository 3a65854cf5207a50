"""What `new` and `plugins new` write.

names   one name -> all names in the code
render  names and templates -> files, as text
write   files -> the disk
make    all of it, and what it may clash with
show    what was made, for a person or a machine

Names and rendering are pure.
"""

from .kinds import Kind
from .make import Made, make_package, make_project
from .names import Names, package_names, project_names
from .render import About, render
from .write import Written, write

__all__ = [
    "About",
    "Kind",
    "Made",
    "Names",
    "Written",
    "make_package",
    "make_project",
    "package_names",
    "project_names",
    "render",
    "write",
]
