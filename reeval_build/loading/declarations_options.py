"""Options of groups and evals that decide what an eval runs in, and how they cascade from outer groups to it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.loading.declarations_data import Data
from reeval_build.loading.declarations_environments import Compare, Environment, check_compare, check_environment
from reeval_build.loading.declarations_harnesses import Harnesses, cascaded
from reeval_build.loading.eval_names import quoted
from reeval_build.model.checks import check_fields
from reeval_build.model.checks.definition import Definition
from reeval_build.model.site import Site

if TYPE_CHECKING:
    from reeval_build.loading.declarations_problems import ProblemsOf

# Rule: reeval's wire types. Those that are only here are about runs, not about what they run in.
_OPTIONS: Final = frozenset({"compare", "egress", "env", "environment", "harness", "sandbox"}) | {
    "capture",
    "gate",
    "judge",
    "pin",
    "question",
    "questions",
    "runs",
    "tags",
    "timeout",
}
_FIELDS: Final = ("env", "egress", "sandbox")


@attrs.frozen(kw_only=True)
class Cascade:
    """What groups and an eval have said so far, outermost first; None is what none of them said."""

    environment: Environment | None = None
    compare: Compare | None = None
    harnesses: Harnesses | None = None
    env: Mapping[str, Data] = MappingProxyType({})
    egress: Data = None
    sandbox: Mapping[str, Data] | None = None

    def under(self, options: Mapping[str, Data], problems: ProblemsOf) -> Cascade:
        """What is said for a group or an eval whose own options are `options`.

        `env` merges by name and the inner wins; harnesses are replaced, added or narrowed; everything else is
        replaced. An option with a mistake, which is added to `problems`, is as if it were not there.
        """
        for name in sorted(options.keys() - _OPTIONS):
            problems.say(f"Unknown option {quoted(name)} in {problems.where}.")
        said: dict[str, Any] = {}
        if "harness" in options:
            said["harnesses"] = cascaded(options["harness"], self.harnesses, problems)
        if "environment" in options:
            said["environment"] = check_environment("environment", options["environment"], problems)
        if "compare" in options:
            said["compare"] = check_compare(options["compare"], problems)
        said |= {name: _sound(name, options[name], problems) for name in _FIELDS if name in options}
        if "env" in said:
            said["env"] = MappingProxyType({**self.env, **said["env"]})
        return attrs.evolve(self, **{name: value for name, value in said.items() if value is not None})


def _sound(name: str, value: Data, problems: ProblemsOf) -> Data:
    """The value of an option that an environment has as a field, or None; of `env`, the variables that are right."""
    # Where host paths count from makes no mistake.
    definition = Definition("", Site.of_wire("/"), called=problems.where, is_wire=True)
    spec = check_fields({name: value}, definition)
    for problem in definition.problems:
        problems.say(problem)
    if name == "env":
        return MappingProxyType({variable: value[variable] for variable in spec.env or ()})
    return None if definition.problems else value
