"""What authors import, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
import reeval_python

import reeval_build

LATE = ("reeval_python", "hypothesis", "docker", "pygit2", "asyncio", "sqlite3")


def loaded_after(statement: str) -> set[str]:
    """The modules that a new Python has loaded after a statement."""
    script = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_name_is_there():
    for name in reeval_build.__all__:
        assert getattr(reeval_build, name) is not None


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'dockr'"):
        _ = reeval_build.dockr


def test_the_hosts_of_registries_are_those_of_reeval():
    assert reeval_build.DEFAULT_EGRESS_ALLOW is reeval_python.DEFAULT_EGRESS_ALLOW
    assert isinstance(reeval_build.DEFAULT_EGRESS_ALLOW, tuple)


def test_importing_the_package_loads_nothing_of_the_model():
    loaded = loaded_after("import reeval_build")

    assert not [name for name in loaded if name.startswith("reeval_build.")]


def test_a_definition_loads_nothing_that_is_only_for_building():
    loaded = loaded_after("from reeval_build import *\ndefine_environment('e', {})".replace("*", ", ".join(
        name for name in reeval_build.__all__ if name not in {"DEFAULT_EGRESS_ALLOW", "__version__"}
    )))  # fmt: skip

    assert not loaded & set(LATE)


def test_the_harness_table_loads_no_more_of_the_model():
    loaded = {name for name in loaded_after("import reeval_build.model.harnesses") if name.startswith("reeval_build")}

    assert loaded == {
        "reeval_build",
        "reeval_build.model",
        "reeval_build.model.harness_facts",
        "reeval_build.model.harnesses",
    }
