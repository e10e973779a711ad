"""How definition files import what is beside them."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import contextmanager
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, ModuleType


class FreshLoader(SourceFileLoader):
    """Compiles a file each time it is loaded.

    What Python keeps compiled in `__pycache__` is told apart by the size and the second of the source, so an edit
    that comes quickly or restores the time would not be seen.
    """

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file as it is now."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


@contextmanager
def importing_from(*directories: Path) -> Iterator[None]:
    """Let the block import from these directories first, and find there what is in them now.

    Modules that came from no installation are forgotten afterwards, so that files of one name in two directories
    do not get in each other's way.
    """
    path, hooks, modules = list(sys.path), list(sys.path_hooks), set(sys.modules)
    sys.path[:0] = list(dict.fromkeys(map(str, directories)))
    sys.path_hooks.insert(0, _find_fresh)
    _forget_finders()
    try:
        yield
    finally:
        sys.path[:], sys.path_hooks[:] = path, hooks
        _forget_finders()
        for name in set(sys.modules) - modules:
            if not _is_installed(_place(sys.modules[name])):
                del sys.modules[name]


def _find_fresh(directory: str) -> FileFinder:
    if _is_installed(directory) or not Path(directory).is_dir():
        raise ImportError
    return FileFinder(directory, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FreshLoader, SOURCE_SUFFIXES))


def _forget_finders() -> None:
    for directory in list(sys.path_importer_cache):
        if not _is_installed(directory):
            del sys.path_importer_cache[directory]


def _place(module: ModuleType) -> str | None:
    """The file of a module, or a directory of a package that has no file."""
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    return file if isinstance(file, str) else None


def _is_installed(place: str | None) -> bool:
    """Whether a module came with Python, with this package or with another installed one."""
    return place is None or (place + os.sep).startswith(_INSTALLED) or not _FOR_INSTALLED.isdisjoint(Path(place).parts)


_INSTALLED: Final = tuple(
    directory + os.sep
    for directory in (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
)
_FOR_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
