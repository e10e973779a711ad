"""The environments in the options of groups and evals: their shape, not what their fields say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from reeval_build.loading.declarations_data import Data
from reeval_build.loading.declarations_harnesses import check_compared
from reeval_build.loading.eval_names import quoted
from reeval_build.model.shown import got, is_text

if TYPE_CHECKING:
    from reeval_build.loading.declarations_problems import ProblemsOf

Environment: TypeAlias = Mapping[str, Any]

# Rule: reeval's wire types, "(or the cascaded environment, or an empty `baseline`)".
EMPTY_BASELINE: Final[Environment] = MappingProxyType(
    {
        "kind": "environment",
        "name": "baseline",
        "layers": (MappingProxyType({"name": "baseline", "spec": MappingProxyType({})}),),
    }
)
_COMPARE_KEYS: Final = frozenset({"baseline", "gate", "harness", "minLift", "variants"})


@attrs.frozen
class Compare:
    """Environments to run side by side; `harness` are the ids and descriptors that variants run on, None for all."""

    baseline: Environment | None
    variants: tuple[Environment, ...]
    harness: tuple[Data, ...] | None


def check_environment(key: str, value: Data, problems: ProblemsOf) -> Environment | None:
    """An environment as data, or None after its mistakes were added to `problems`. `key` is where it stands."""
    if isinstance(value, tuple) and key == "environment":
        problems.say(
            f"environment takes one environment, not a list ({problems.where}). To compare environments, use "
            "compare: { baseline, variants: [a, b] }. baseline is the control; variants are not layered on it."
        )
        return None
    if not isinstance(value, Mapping) or value.get("kind") != "environment":
        problems.add(key, f"must be an environment, from define_environment() {got(value)}")
        return None
    extra = sorted(value.keys() - {"kind", "name", "layers"})
    if extra:
        problems.add(key, f"has an unknown key {quoted(extra[0])}; an environment has kind, name and layers")
    elif not is_text(value.get("name")):
        problems.add(f"{key}.name", f"must be text {got(value.get('name'))}")
    elif not isinstance(value.get("layers"), tuple) or not value["layers"]:
        problems.add(f"{key}.layers", f"must be a list of at least one layer {got(value.get('layers'))}")
    else:
        sound = [_is_layer(f"{key}.layers[{at}]", layer, problems) for at, layer in enumerate(value["layers"])]
        return value if all(sound) else None
    return None


def _is_layer(key: str, value: Data, problems: ProblemsOf) -> bool:
    if not isinstance(value, Mapping) or value.keys() != {"name", "spec"}:
        problems.add(key, f"must have a name and a spec, and nothing else {got(value)}")
    elif not is_text(value["name"]):
        problems.add(f"{key}.name", f"must be text {got(value['name'])}")
    elif not isinstance(value["spec"], Mapping):
        problems.add(f"{key}.spec", f"must be a mapping of fields {got(value['spec'])}")
    else:
        return True
    return False


def check_compare(value: Data, problems: ProblemsOf) -> Compare | None:
    """The `compare` option, or None after its mistakes were added to `problems`."""
    if not isinstance(value, Mapping):
        problems.add("compare", f"must be {{ baseline?, variants }} {got(value)}")
        return None
    for key in sorted(value.keys() - _COMPARE_KEYS):
        problems.add("compare", f"has an unknown key {quoted(key)}; it takes {', '.join(sorted(_COMPARE_KEYS))}")
    baseline = check_environment("compare.baseline", value["baseline"], problems) if "baseline" in value else None
    if not isinstance(value.get("variants"), tuple):
        problems.add("compare.variants", f"must be a list of environments {got(value.get('variants'))}")
        return None
    checked = [
        check_environment(f"compare.variants[{at}]", variant, problems) for at, variant in enumerate(value["variants"])
    ]
    return Compare(
        baseline=baseline,
        variants=tuple(variant for variant in checked if variant is not None),
        harness=check_compared(value["harness"], problems) if "harness" in value else None,
    )
