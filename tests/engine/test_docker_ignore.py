"""The rules of `.dockerignore`, held to what Docker's own builders make of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Final

import attrs
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from reeval_build.content.docker_ignore import BadPatternError, DockerIgnore
from reeval_build.digest import TREE
from reeval_build.sources.freshness import Freshness
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.tree import directory
from tests.support.engine import PrivateEngine
from tests.support.memory_store import MemoryObjects, MemoryStats

NAMES: Final = ("a", "ab", ".c")
FILES: Final = sorted(
    {"/".join(path) for depth in (1, 2, 3) for path in product(NAMES, repeat=depth)} | {"a/b.log", "x.log"}
)
TREE_OF_FILES: Final = [path for path in FILES if not any(other.startswith(f"{path}/") for other in FILES)] + [
    f"{place}/file" for place in ("a", "a/ab", ".c")
]
pieces = st.sampled_from(["a", "ab", ".c", "*", "**", "?", "a*", "[a-b]*", "*.log", "file", "..", ".", "\\.c", "[^a]*"])
patterns = st.builds(
    lambda bang, slash, parts, end: bang + slash + "/".join(parts) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(pieces, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " "]),
)
# An exception with a wildcard that is not at its end. BuildKit follows it into directories that are left out since
# version 0.10, and so do we; what there is to compare with here does not yet.
_WANDERS: Final = re.compile(r"!.*[*?[].*/|!.*[?[]|!.*\*.")
FIRST_OF_TODAY: Final = 23
CLIENTS: Final = [path for path in map(Path, ("/usr/local/bin/docker", "/usr/bin/docker")) if path.exists()]


@attrs.frozen
class Reference:
    """A client, and which of the two builders it is to use."""

    program: Path
    buildkit: str
    engine: PrivateEngine
    place: Path

    @property
    def is_new(self) -> bool:
        """Whether it has the rules for exceptions that builders have today."""
        command = [str(self.program), "version", "--format", "{{.Client.Version}}"]
        done = subprocess.run(command, env={"HOME": "/none"}, capture_output=True, text=True, check=False)
        return int(done.stdout.partition(".")[0]) >= FIRST_OF_TODAY

    def sent(self, context: Path) -> set[str] | None:
        """What a builder has of a directory; None when it refuses its rules."""
        output = self.place / "output"
        shutil.rmtree(output, ignore_errors=True)
        (self.place / "Dockerfile").write_text("FROM reeval-build-test/busybox:1\nCOPY . /sent\n")
        env = {"DOCKER_HOST": self.engine.url, "DOCKER_BUILDKIT": self.buildkit, "PATH": os.defpath, "HOME": "/none"}

        def docker(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([self.program, *command], env=env, capture_output=True, text=True, check=False)

        built = docker(
            "build", "--quiet", "--force-rm", "--tag=ignored:1", f"--file={self.place}/Dockerfile", str(context)
        )
        if built.returncode:
            assert "pattern" in built.stderr or "syntax error" in built.stderr, built.stderr
            return None
        listed = docker("run", "--rm", "--network=none", "ignored:1", "find", "/sent", "-mindepth", "1")
        assert listed.returncode == 0, listed.stderr
        return {line.removeprefix("/sent/") for line in listed.stdout.splitlines()}


@pytest.fixture(params=["buildkit", "classic"])
def reference(engine: PrivateEngine, tmp_path: Path, request: pytest.FixtureRequest) -> Reference:
    if not CLIENTS:
        pytest.skip("no client of Docker is here")
    # The last is the one that has BuildKit in it, the first the newest.
    if request.param == "buildkit":
        return Reference(CLIENTS[-1], "1", engine, tmp_path)
    return Reference(CLIENTS[0], "0", engine, tmp_path)


def chosen(context: Path, rules: str) -> set[str] | None:
    """What we take of the same directory."""
    try:
        selection = DockerIgnore(rules.encode())
    except BadPatternError:
        return None
    objects = MemoryObjects()
    with objects.batch() as batch:
        tree = LocalDirectories(objects, Freshness(MemoryStats())).read(str(context), batch, selection=selection)
    found = directory.walk(tree, lambda digest: directory.decode(objects.read(TREE, digest)))
    return {b"/".join(parts).decode() for parts, _entry in found}


def context_in(place: Path, rules: str) -> Path:
    context = place / "context"
    if not context.exists():
        for path in TREE_OF_FILES:
            file = context / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
    (context / ".dockerignore").write_text(rules)
    return context


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(patterns, min_size=1, max_size=5).map("\n".join))
@example("# comment\n #none\n\n a \n!a/ab\n")
@example("*\n!a/ab/file\n")
@example("*\n!.c/file\n!a/**\n")
@example("a\n!a/*\na/.c\n")
@example("**/a\n.c/**/file\n")
@example("/a/\n./.c\n")
@example(".dockerignore\n**/*.log\n")
@example("a/**\n")
@example("a/a\n!a")
@example("a\n!/..\n")
@example("!a\n")
@example("[a\n")
def test_what_is_sent_is_what_a_builder_of_docker_takes(reference: Reference, rules: str) -> None:
    exceptions = [line.strip() for line in rules.splitlines() if line.strip().startswith("!")]
    assume(reference.is_new or not exceptions)
    assume(not any(map(_WANDERS.match, exceptions)))
    context = context_in(reference.place, rules)

    sent = reference.sent(context)

    assert chosen(context, rules) == sent
