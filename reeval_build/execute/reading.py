"""Reads what was fetched: to plan with, and to place it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from reeval_build.content.material import Material
from reeval_build.digest import BLOB, Digest
from reeval_build.execute import trees
from reeval_build.tree import directory

if TYPE_CHECKING:
    from reeval_build.content.facts import Facts
    from reeval_build.plan.outputs import Output, TreeOutput
    from reeval_build.ports.objects import Batch, Objects


def tree_of(output: Output) -> Digest:
    """The tree that a source left."""
    tree = cast("TreeOutput", output).workspace
    assert tree is not None, "a source is in the place of a workspace"
    return tree


def to_look_at(objects: Objects, facts: Facts) -> Material:
    """Says what would be kept, and keeps nothing but `facts`."""
    return Material(
        load=trees.loader(objects),
        read=lambda digest: objects.read(BLOB, digest),
        save=directory.tree_digest,
        add=BLOB.digest,
        facts=facts,
    )


def to_keep(objects: Objects, batch: Batch) -> Material:
    """Keeps everything, and so reads everything: what was found out before may be in no store."""
    return Material(
        load=trees.loader(objects),
        read=lambda digest: objects.read(BLOB, digest),
        save=trees.saver(batch),
        add=lambda data: batch.add(BLOB, data),
    )
