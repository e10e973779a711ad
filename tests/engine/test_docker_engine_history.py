"""A law: whatever steps do, a state restored at any depth is what the container was at that point."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.engines.docker.committed import read_committed
from reeval_build.engines.docker.connection import Connection
from reeval_build.engines.docker.endpoint import Endpoint
from reeval_build.engines.docker.images import REPOSITORY
from reeval_build.state.state import State
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.workbench import Workbench, keep_delta, listing, run

if TYPE_CHECKING:
    from collections.abc import Iterator

# As the shell reads them.
_NAMES = ("a", "b", "c", "'d e'", r"$'f\ng'", r"$'\377\376'", "-n", "'*'")

paths = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map(lambda names: "/p/" + "/".join(names))
operations = st.one_of(
    st.builds("mkdir -p {0}; echo {1} > {0}/x".format, paths, st.integers(0, 3)),
    st.builds("echo {1} > {0}".format, paths, st.integers(0, 3)),
    st.builds("echo {1} >> {0}".format, paths, st.integers(0, 3)),
    st.builds("rm -rf {0}".format, paths),
    st.builds("rm -rf {0}; mkdir {0}; echo {1} > {0}/y".format, paths, st.integers(0, 3)),
    st.builds("mv -T {0} {1}".format, paths, paths),
    st.builds("ln {0} {1}".format, paths, paths),
    st.builds("ln -sfn {0} {1}".format, paths, paths),
    st.builds("mkfifo {0}".format, paths),
    st.builds("chmod {1} {0}".format, paths, st.sampled_from(["600", "755", "4711", "1777"])),
    st.builds("chown -h {1}:{2} {0}".format, paths, st.integers(0, 2), st.integers(0, 2)),
    st.builds("touch -h -d @{1} {0}".format, paths, st.integers(0, 2**31)),
)
steps = st.lists(operations, min_size=1, max_size=12).map("\n".join)


@pytest.fixture(scope="module")
def bench(engine: PrivateEngine, tmp_path_factory) -> Iterator[Workbench]:
    restore_base_images(engine)
    with closing(Workbench(engine.url, tmp_path_factory.mktemp("bench"))) as made:
        yield made


@given(history=st.lists(steps, min_size=2, max_size=3))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_state_restored_at_any_depth_is_what_the_container_was(bench, engine, history):
    with (
        closing(docker.DockerClient(base_url=engine.url)) as client,
        closing(Connection(Endpoint(address=engine.url))) as connection,
    ):
        # Times are no part of what a state is: without something new in it, an image of an earlier example is taken.
        state = bench.place(bench.base(engine.busybox), "p", {"unique": uuid.uuid4().bytes})
        seen: list[bytes] = []
        for script in history:
            with bench.sandbox(state) as sandbox, bench.objects.batch() as batch:
                if seen:
                    assert listing(sandbox, "/p") == seen[-1]
                run(sandbox, script)
                seen.append(listing(sandbox, "/p"))
                delta = sandbox.capture(batch)
                assert delta == read_committed(connection, sandbox.container, batch)
                state = state.on_top(keep_delta(batch, delta))
        for image in client.images.list(REPOSITORY):
            client.images.remove(image.tags[0], force=True)
        for depth, expected in enumerate(seen, start=2):
            with bench.sandbox(State(state.base, state.deltas[:depth])) as sandbox:
                assert listing(sandbox, "/p") == expected
