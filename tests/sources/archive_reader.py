"""Reads archives into a store and shows what has come of them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from reeval_build.sources.archives import read_archive
from reeval_build.sources.limits import Limits
from tests.sources.trees import show

if TYPE_CHECKING:
    from reeval_build.ports.objects import Objects
    from tests.sources.trees import Shown


class ArchiveReader:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __call__(self, data: bytes, **limits: int) -> Shown:
        with self._objects.batch() as batch:
            tree = read_archive(io.BytesIO(data), batch, name="it", limits=Limits(**limits))
        return show(self._objects, tree)
