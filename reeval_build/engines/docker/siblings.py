"""Images of states that differ from another one in the tree of files that was placed last."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.digest import TREE, Digest
from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.ports.objects import LostObjectError
from reeval_build.state.placed import changed_entries
from reeval_build.state.state import PlacedTree
from reeval_build.tree.directory import decode, walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import State

_BELOW_LABEL: Final = "reeval-build.below"
_TREE_LABEL: Final = "reeval-build.tree"
_CHANGES_LABEL: Final = "reeval-build.changes"

_FEW_FILES: Final = 200
"""A tree of fewer is written as quickly as what changed in it."""

_MOST_CHANGES: Final = 5_000
_MOST_LAYERS: Final = 8
"""How many layers of changes are put on each other before the whole tree is written again."""

_MOST_LOOKED_AT: Final = 100


@attrs.frozen(kw_only=True)
class Sibling:
    """An image that has `tree` where another state has another one, and else all that this has below.

    `changes` counts the layers of changes in it.
    """

    layers: tuple[str, ...]
    tree: Digest
    changes: int


def labels_of(state: State, changes: int) -> dict[str, str]:
    """What the image of a state says, so that it is found as a sibling."""
    placed = _placed(state)
    if placed is None:
        return {}
    below = state.lowest(len(state.deltas) - 1)
    return {_BELOW_LABEL: below.restored.hex, _TREE_LABEL: placed.tree.hex, _CHANGES_LABEL: str(changes)}


def nearest_sibling(
    state: State, connection: Connection, objects: Objects, *, state_label: str, required: Mapping[str, str]
) -> Sibling | None:
    """The sibling from which least has to change, where there is one, and changing it is less than writing all.

    `state_label` is the label that says which state an image is of, and `required` are labels that it must have.
    """
    placed = _placed(state)
    if placed is None or not _has_many_files(placed.tree, objects):
        return None
    below = state.lowest(len(state.deltas) - 1)
    wanted = [f"{name}={value}" for name, value in ({_BELOW_LABEL: below.restored.hex} | dict(required)).items()]
    with connection.asked_to("look for images of similar states"):
        found = connection.quick.images(filters={"label": wanted})
    best, fewest = None, _MOST_CHANGES + 1
    for image in islice(found, _MOST_LOOKED_AT):
        labels = image["Labels"]
        tree = _tree_of(labels, below, placed, state_label)
        if tree is None or int(labels[_CHANGES_LABEL]) >= _MOST_LAYERS:
            continue
        count = _count_changes(tree, placed, objects, most=fewest)
        if count < fewest and (details := connection.find_image(image["Id"])) is not None:
            fewest = count
            layers = tuple(details["RootFS"].get("Layers") or ())
            best = Sibling(layers=layers, tree=tree, changes=int(labels[_CHANGES_LABEL]))
    return best


def _placed(state: State) -> PlacedTree | None:
    """The tree that was placed last, when nothing else is there with it."""
    last = state.deltas[-1] if state.deltas else None
    return last if isinstance(last, PlacedTree) and last.replaces else None


def _has_many_files(tree: Digest, objects: Objects) -> bool:
    return len(list(islice(walk(tree, lambda digest: decode(objects.read(TREE, digest))), _FEW_FILES))) == _FEW_FILES


def _tree_of(labels: Mapping[str, Any], below: State, placed: PlacedTree, state_label: str) -> Digest | None:
    """The tree of a sibling, when what its labels say of it is what it says that it is: private ones are nobody's."""
    text, changes = str(labels.get(_TREE_LABEL)), str(labels.get(_CHANGES_LABEL))
    if OWNER_LABEL in labels or not changes.isdecimal():
        return None
    try:
        tree = Digest(bytes.fromhex(text))
    except ValueError:
        return None
    is_it = below.on_top(attrs.evolve(placed, tree=tree)).restored.hex == labels.get(state_label)
    return tree if is_it else None


def _count_changes(tree: Digest, placed: PlacedTree, objects: Objects, *, most: int) -> int:
    """How many entries a layer of changes has; `most` for as many, and when a directory of the sibling is gone."""
    try:
        entries = changed_entries(tree, placed, lambda digest: decode(objects.read(TREE, digest)))
        return len(list(islice(entries, most)))
    except LostObjectError:
        return most
