"""Options of groups and evals that decide what an eval runs in, and how they cascade from outer groups to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.loading.declarations_data import Data
from reeval_build.loading.declarations_environments import Compare, Environment, check_compare, check_environment
from reeval_build.loading.declarations_harnesses import Harnesses, cascaded
from reeval_build.loading.eval_names import quoted
from reeval_build.model.shown import got, is_text, names_secret

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
_POLICIES: Final = ("proxy", "allow-all", "deny-all")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
        if "env" in options:
            said["env"] = MappingProxyType({**self.env, **_check_env(options["env"], problems)})
        if "egress" in options:
            said["egress"] = _check_egress(options["egress"], problems)
        if "sandbox" in options:
            said["sandbox"] = _check_sandbox(options["sandbox"], problems)
        return attrs.evolve(self, **{name: value for name, value in said.items() if value is not None})


def _check_env(value: Data, problems: ProblemsOf) -> Mapping[str, Data]:
    if not isinstance(value, Mapping):
        problems.add("env", "must be a mapping of variable names to strings and secrets")
        return {}
    checked: dict[str, Data] = {}
    for name, content in value.items():
        if not _VARIABLE.fullmatch(name):
            problems.add(
                f"env[{quoted(name)}]",
                'is not a variable name: letters, digits and "_", starting with a letter or "_"',
            )
        elif isinstance(content, Mapping) and content.get("kind") == "secret":
            checked[name] = content
        elif not is_text(content):
            problems.add(f"env.{name}", "must be a string of valid Unicode without NUL, or a secret")
        elif names_secret(name):
            problems.add(
                f"env.{name}",
                "is a literal string. Pass secrets with secret.fromEnv() so they're redacted and never recorded.",
            )
        else:
            checked[name] = content
    return checked


def _check_egress(value: Data, problems: ProblemsOf) -> Data:
    match value:
        case str() if value in _POLICIES:
            return value
        case {"allow": tuple() as hosts, **rest} if not rest and all(is_text(host) and host for host in hosts):
            return value
    problems.add("egress", f"must be {', '.join(map(quoted, _POLICIES))} or {{ allow: [hosts] }} {got(value)}")
    return None


def _check_sandbox(value: Data, problems: ProblemsOf) -> Mapping[str, Data] | None:
    if isinstance(value, Mapping) and is_text(value.get("kind")):
        return value
    problems.add("sandbox", f"must come from a sandbox helper, e.g. docker(from_='node:24-bookworm') {got(value)}")
    return None
