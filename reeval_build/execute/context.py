"""What pieces of work need from outside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build.content.facts import Facts
from reeval_build.execute.image_locks import ImageLocks
from reeval_build.model.harness_recipes import HarnessRecipe
from reeval_build.ports.cells import Cells
from reeval_build.ports.engine import Cancellation
from reeval_build.ports.objects import Objects
from reeval_build.ports.records import Records
from reeval_build.ports.sources import GitTrees, HostFiles, LocalTrees, Packages

if TYPE_CHECKING:
    from reeval_build.ports.engine import Engine


class Engines(Protocol):
    """Gives engines by kind, made when they are first asked for."""

    def __call__(self, kind: str, /) -> Engine:
        """The engine of a kind of sandbox, `docker` or `fake`."""


@attrs.frozen(kw_only=True)
class Context:
    """The adapters of a run; all of them are safe to use from several threads.

    `private` reads what `objects` reads, and keeps what must not outlive the process and no other one may have.
    `harnesses` are the recipes of those kinds that the project wants installed, by kind.
    `variables` are those of the host, with the values of secrets among them: never in a message, nor in a `repr`.
    """

    objects: Objects
    private: Objects
    facts: Facts
    records: Records
    cells: Cells
    engines: Engines
    locks: ImageLocks
    harnesses: Mapping[str, HarnessRecipe]
    git: GitTrees
    host_files: HostFiles
    packages: Packages
    local_trees: LocalTrees
    logs: Path
    scratch: Path
    cancel: Cancellation
    variables: Mapping[str, str] = attrs.field(repr=False)
