"""Which harnesses an eval runs on: a descriptor, a list, `{add}` or `{only}`, from outer groups to the eval."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from reeval_build.errors import DefinitionError
from reeval_build.loading.eval_names import quoted
from reeval_build.model.cells import BEFORE_CELL
from reeval_build.model.harness_descriptors import HarnessDescriptor
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.helpers.harnesses import harness_from_wire
from reeval_build.model.shown import got, is_text

if TYPE_CHECKING:
    from reeval_build.loading.declarations_data import Data
    from reeval_build.loading.declarations_problems import ProblemsOf

Harness: TypeAlias = Mapping[str, Any]
Harnesses: TypeAlias = tuple[Harness, ...]

# What a harness has that is only named, by its id.
_NAMED: Final = frozenset({"kind", "id"})


def harness_id(harness: Harness) -> str:
    """The id that a harness has in cells: its own, else `KIND:MODEL[effort=…]`. Rule: reeval's wire types."""
    if "id" in harness:
        return str(harness["id"])
    if harness["kind"] == "fake" or "model" not in harness:
        return str(harness["kind"])
    effort = f"[effort={harness['effort']}]" if "effort" in harness else ""
    return f"{harness['kind']}:{harness['model']}{effort}"


def cascaded(value: Data, inherited: Harnesses | None, problems: ProblemsOf) -> Harnesses | None:
    """What the `harness` option of a group or an eval makes of the harnesses it inherits; None when none are known.

    A list replaces them, `{add}` appends to them, `{only}` keeps those of some ids. A mistake is added to `problems`,
    and leaves what was inherited.
    """
    entries: tuple[Data, ...]
    before: Harnesses = ()
    match value:
        case {"kind": _} | str():
            entries = (value,)
        case tuple():
            entries = value
        case {"add": more, **rest} if not rest:
            entries, before = _as_tuple(more), inherited or ()
        case {"only": ids, **rest} if not rest:
            return _only(_as_tuple(ids), inherited, problems)
        case _:
            problems.add("harness", f"must be a harness, a list of them, {{ add }} or {{ only }} {got(value)}")
            return inherited
    if not entries:
        problems.add("harness", "must name at least one harness")
        return inherited
    added = [_harness("harness", entry, inherited, problems) for entry in entries]
    return (*before, *(one for one in added if one is not None)) or inherited


def compared(entries: tuple[Data, ...] | None, harnesses: Harnesses | None, problems: ProblemsOf) -> Harnesses | None:
    """The harnesses whose variants run, out of those of the eval; `entries` is the `harness` option of its compare.

    None stands for "not known", in both. Where the eval's are not known, those that are named are taken.
    """
    if entries is None:
        return harnesses
    if harnesses is None:
        named = [_harness("compare.harness", entry, None, problems) for entry in entries]
        return tuple(one for one in named if one is not None)
    ids = {entry if isinstance(entry, str) else harness_id(entry) for entry in entries}
    chosen = tuple(harness for harness in harnesses if harness_id(harness) in ids)
    if not chosen:
        problems.add("compare.harness", f"names none of the harnesses it runs on, which are {_ids(harnesses)}")
    return chosen


def check_compared(value: Data, problems: ProblemsOf) -> tuple[Data, ...] | None:
    """The entries of the `harness` option of a compare: ids and descriptors; None when it is no list of them."""
    if not isinstance(value, tuple) or not value:
        problems.add("compare.harness", f"must be a list of harnesses or their ids {got(value)}")
        return None
    # What an id means is known when the harnesses of the eval are.
    known = [entry if _is_id(entry) else _harness("compare.harness", entry, None, problems) for entry in value]
    return value if None not in known else None


def _as_tuple(value: Data) -> tuple[Data, ...]:
    return value if isinstance(value, tuple) else (value,)


def _only(ids: tuple[Data, ...], inherited: Harnesses | None, problems: ProblemsOf) -> Harnesses | None:
    if not ids or not all(map(_is_id, ids)):
        problems.add("harness.only", f"must be the id of a harness, or a list of ids {got(ids)}")
        return inherited
    if inherited is None:
        named = [_checked("harness.only", _named(one), problems) for one in ids]
        return tuple(one for one in named if one is not None) or None
    known = {harness_id(harness) for harness in inherited}
    unknown = [one for one in ids if one not in known]
    if unknown:
        problems.add("harness.only", f"names {quoted(unknown[0])}, but the harnesses are {_ids(inherited)}")
        return inherited
    return tuple(harness for harness in inherited if harness_id(harness) in ids)


def _harness(option: str, value: Data, inherited: Harnesses | None, problems: ProblemsOf) -> Harness | None:
    """A descriptor, or what an id means: the inherited harness of that id, else one of the kind it begins with."""
    if _is_id(value):
        known = next((harness for harness in inherited or () if harness_id(harness) == value), None)
        return known or _checked(option, _named(value), problems)
    if not isinstance(value, Mapping) or not is_text(value.get("kind")) or not value["kind"]:
        problems.add(option, f"must come from a harness helper, such as fake_harness() {got(value)}")
        return None
    for name in ("id", "model", "effort"):
        if name in value and not is_text(value[name]):
            problems.add(f"{option}.{name}", f"must be text {got(value[name])}")
            return None
    return _checked(option, value, problems)


def _checked(option: str, harness: Harness, problems: ProblemsOf) -> Harness | None:
    """A harness that there is, with a name that cells can have; None after its mistakes were added to `problems`."""
    kind, name = harness["kind"], harness.get("id", "")
    mistakes: tuple[str, ...] = ()
    if kind not in HARNESSES:
        mistakes = (f"there is no harness {quoted(kind)}; there are {', '.join(HARNESSES)}",)
    elif BEFORE_CELL in name or not name.isprintable():
        problems.add(f"{option}.id", f'must be printable text without "{BEFORE_CELL}", for it names cells')
        return None
    else:
        try:
            descriptor(harness)
        except DefinitionError as error:
            mistakes = error.problems
    for mistake in mistakes:
        problems.say(f"{option} in {problems.where}: {mistake}")
    return None if mistakes else harness


def descriptor(harness: Harness) -> HarnessDescriptor:
    """The value of a harness as data, which may only be named. Raises DefinitionError for mistakes."""
    if harness.keys() <= _NAMED:
        return HarnessDescriptor(kind=harness["kind"], id=harness.get("id"))
    # None of its options is a path.
    return harness_from_wire(harness, directory="/")


def _is_id(value: Data) -> TypeGuard[str]:
    return is_text(value) and value.partition(":")[0] != ""


def _named(text: str) -> Harness:
    kind = text.partition(":")[0]
    return MappingProxyType({"kind": kind} if kind == text else {"kind": kind, "id": text})


def _ids(harnesses: Harnesses) -> str:
    return ", ".join(quoted(harness_id(harness)) for harness in harnesses)
