"""Where something is written, which decides what a relative path or a bare number in it means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

from reeval_build.model.callers import calling_file

_MILLISECOND_S: Final = 0.001


@attrs.frozen
class Site:
    """A place where values are written.

    Relative host paths count from `directory`. A time limit that is a bare number is that many times `number_s`
    seconds: Python says seconds, reeval's wire form says milliseconds.
    """

    directory: Path
    number_s: float = attrs.field(default=1.0, kw_only=True)

    @classmethod
    def of_caller(cls) -> Site:
        """The file that called into this package, or the working directory for code that is from no file."""
        file = calling_file()
        return cls(Path.cwd() if file is None else file.parent)

    @classmethod
    def of_wire(cls, directory: str | os.PathLike[str]) -> Site:
        """Data in reeval's wire form, written in a file of `directory`."""
        return cls(Path(directory).absolute(), number_s=_MILLISECOND_S)

    def resolve(self, path: str) -> str:
        """An absolute, plain host path: relative ones count from here, `~/` is the home directory.

        Rule: reeval's documentation, "Relative host paths resolve against the calling file".
        """
        joined = self.directory / os.path.expanduser(path)  # noqa: PTH111 - pathlib's raises where there is no home
        parts: list[str] = []
        for part in joined.parts[1:]:
            if part == "..":
                parts[-1:] = []
            else:
                parts.append(part)
        return "/" + "/".join(parts)
