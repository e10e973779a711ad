"""`file` and `directory`: files of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.shown import got, is_text
from reeval_build.model.spec import HostFile

if TYPE_CHECKING:
    from reeval_build.model.site import Site


def file(path: str) -> HostFile:
    """A host file, copied byte for byte; an owner execute bit stays.

    It is read when the environment is prepared, not here: a missing file fails only what needs it.

    Args:
        path: relative to the calling file, or absolute.

    Raises:
        DefinitionError: for a path that is empty or not text.
    """
    return make(FILE, {"path": path})


def _path(value: object, site: Site) -> str:
    if not is_text(value) or not value:
        raise Refused(Mistake(f"needs the path of a file {got(value)}", about="thing"))
    return site.resolve(value)


FILE: Final = Shape(
    called="file()",
    options={"path": Option("path", _path, required=True)},
    build=HostFile,
    instead=HostFile("/"),
)
