"""What nodes left, and records of cells, as the text that the database has."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from reeval_build.digest import Digest
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput
from reeval_build.state.state import Delta, PlacedTree, State, StepDelta

if TYPE_CHECKING:
    import cattrs

    from reeval_build.plan.record import CellRecord


def output_text(output: Output) -> str:
    """An output as text."""
    return json.dumps(_converter().unstructure(output, Output), sort_keys=True)


def cell_text(record: CellRecord) -> str:
    """The record of a cell as text: equal text, equal record."""
    return json.dumps(attrs.asdict(record))


def cell_of(text: str) -> CellRecord | None:
    """The record of a cell that `cell_text` wrote, or None for what another version or nobody wrote."""
    import cattrs

    from reeval_build.plan.record import CellRecord

    try:
        value = json.loads(text)
        return _converter().structure(value, CellRecord) if isinstance(value, dict) else None
    except (ValueError, RecursionError, cattrs.BaseValidationError):
        return None


def output_of(text: str) -> Output:
    """The output that `output_text` wrote.

    By hand, for every build reads these, and one that has nothing to do reads nothing else: a converter costs more
    to make than all of it.
    """
    value: dict[str, Any] = json.loads(text)
    match value.pop("_type"):
        case "TreeOutput":
            return TreeOutput(workspace=_digest(value["workspace"]), home=_digest(value["home"]))
        case "StateOutput":
            return StateOutput(state=_state(value["state"]))
        case "SnapshotOutput":
            return SnapshotOutput(
                state=_state(value["state"]),
                baseline=Digest.parse(value["baseline"]),
                placed=Digest.parse(value["placed"]),
            )
        case other:
            raise ValueError(f"{other!r} is no output")


def _digest(text: str | None) -> Digest | None:
    return None if text is None else Digest.parse(text)


def _state(value: dict[str, Any]) -> State:
    env = value.get("env")
    return State(Digest.parse(value["base"]), tuple(map(_delta, value["deltas"])), None if env is None else tuple(env))


def _delta(value: dict[str, Any]) -> Delta:
    if value["_type"] == "StepDelta":
        return StepDelta(delta=Digest.parse(value["delta"]), times=Digest.parse(value["times"]))
    at = tuple(bytes.fromhex(name) for name in value["at"])
    return PlacedTree(at=at, tree=Digest.parse(value["tree"]), replaces=value["replaces"])


@cache
def _converter() -> cattrs.Converter:
    import cattrs
    from cattrs.gen import make_dict_unstructure_fn, override
    from cattrs.strategies import configure_tagged_union

    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_unstructure_hook(Digest, lambda digest: digest.hex)
    converter.register_structure_hook(Digest, lambda text, _type: Digest.parse(text))
    converter.register_unstructure_hook(bytes, lambda data: data.hex())
    converter.register_structure_hook(bytes, lambda text, _type: bytes.fromhex(text))
    configure_tagged_union(Delta, converter)
    # Left out where there is none: so it is in no record that knows nothing of it.
    left_out = make_dict_unstructure_fn(State, converter, env=override(omit_if_default=True))
    converter.register_unstructure_hook(State, left_out)
    configure_tagged_union(Output, converter)
    return converter
