"""What every front end gives: an environment, with what it was declared to run on and with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from reeval_build.loading.eval_names import call_of, path_text
from reeval_build.model.egress import Egress
from reeval_build.model.environment import Environment
from reeval_build.model.harness_descriptors import HarnessDescriptor
from reeval_build.model.spec import EnvValue, Layer, Sandbox, Spec

# Rule: reeval's wire types, `Cell`: "environment: "-" when none". No environment can be defined with this name.
NO_ENVIRONMENT = Environment("-", (Layer("-", Spec()),))


@attrs.frozen
class Eval:
    """An eval of a file, by the names of its groups, outermost first, and its own."""

    file: str
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The whole name, as reeval-python writes it."""
        return path_text(self.path)

    @property
    def call(self) -> str:
        """How messages name it: `evaluate("x")`."""
        return call_of("eval", self.path)


@attrs.frozen(kw_only=True)
class Found:
    """An environment, and the file it was found in, as messages name it.

    `harness` is the one it was declared to run on, None when nothing says so. `env` is put over its variables, by
    name; `egress` replaces its own; `sandbox` is its machine when it names none itself. `evals` are those that declare
    all that; none for an environment that stands for itself.
    """

    environment: Environment
    harness: HarnessDescriptor | None = None
    env: Mapping[str, EnvValue] = MappingProxyType({})
    egress: Egress | None = None
    sandbox: Sandbox | None = None

    file: str = attrs.field(eq=False)
    evals: tuple[Eval, ...] = attrs.field(default=(), eq=False)
