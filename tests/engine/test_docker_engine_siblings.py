"""A state whose tree is nearly that of another image: what changed is loaded, and it comes to the same."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest
from hypothesis import HealthCheck, given, settings

from reeval_build.digest import BLOB, TREE
from reeval_build.engines.docker import siblings
from reeval_build.engines.docker.images import REPOSITORY
from reeval_build.state.state import PlacedTree, State
from reeval_build.tree import directory
from tests.support.workbench import Workbench, listing, succeed
from tests.unit.state.test_placed import models

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.digest import Digest
    from tests.support.directories import Model
    from tests.support.engine import PrivateEngine

FILES = {f"d{number % 7}/{number}": b"%d" % number for number in range(300)}


@pytest.fixture(scope="module")
def bench(engine: PrivateEngine, tmp_path_factory) -> Iterator[Workbench]:
    with closing(Workbench(engine.url, tmp_path_factory.mktemp("bench"))) as made:
        yield made


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


@pytest.fixture
def base(bench: Workbench, engine: PrivateEngine) -> State:
    """A state that no image of another test stands on."""
    return bench.place(bench.base(engine.busybox), "unique", {uuid.uuid4().hex: b""})


def layers_of(client: docker.DockerClient, state: State) -> list[str]:
    image = client.images.get(f"{REPOSITORY}:{state.restored.hex}")
    return list(image.attrs["RootFS"]["Layers"])


def seen(bench: Workbench, state: State) -> bytes:
    with bench.sandbox(state) as sandbox:
        return listing(sandbox, "/workspace")


def test_of_a_large_tree_only_what_changed_is_loaded(bench, base, client):
    one = bench.place(base, "workspace", FILES)
    two = bench.place(base, "workspace", FILES | {"d3/3": b"changed"})
    bench.run(one, "true")

    with bench.sandbox(two) as sandbox:
        assert succeed(sandbox, "cd /workspace; cat d3/3 d3/10; find . -type f | wc -l") == b"changed10300\n"

    assert layers_of(client, two)[:-1] == layers_of(client, one)
    assert size_of(client, two) - size_of(client, one) < 100


def size_of(client: docker.DockerClient, state: State) -> int:
    return int(client.images.get(f"{REPOSITORY}:{state.restored.hex}").attrs["Size"])


def test_steps_on_top_of_it_are_loaded_with_it(bench, base, client):
    one = bench.step(bench.place(base, "workspace", FILES), "rm /workspace/d0/7; echo made > /workspace/made")
    two = State(
        one.base, (*base.deltas, bench.place(base, "workspace", FILES | {"more": b""}).deltas[-1], one.deltas[-1])
    )
    bench.run(one, "true")

    with bench.sandbox(two) as sandbox:
        assert succeed(sandbox, "cd /workspace; cat made; ls more; find . -type f | wc -l") == b"made\nmore\n301\n"


def test_after_many_edits_there_are_not_many_layers(bench, base, client):
    states = [bench.place(base, "workspace", FILES | {"edited": b"%d" % number}) for number in range(24)]
    for number, state in enumerate(states):
        with bench.sandbox(state) as sandbox:
            assert succeed(sandbox, "cat /workspace/edited") == b"%d" % number

    whole = len(layers_of(client, states[0]))
    assert max(len(layers_of(client, state)) for state in states) <= whole + 8


def test_a_small_tree_is_loaded_whole(bench, base, client):
    one, two = bench.place(base, "workspace", {"a": b"1"}), bench.place(base, "workspace", {"a": b"2"})
    bench.run(one, "true")
    bench.run(two, "true")

    assert len(layers_of(client, one)) == len(layers_of(client, two))


def test_a_tree_that_has_little_in_common_with_it_is_loaded_whole(bench, base, client, monkeypatch):
    monkeypatch.setattr(siblings, "_MOST_CHANGES", 250)
    one = bench.place(base, "workspace", FILES)
    two = bench.place(base, "workspace", {name: data + b"!" for name, data in FILES.items()})
    bench.run(one, "true")
    bench.run(two, "true")

    assert len(layers_of(client, one)) == len(layers_of(client, two))


def test_when_the_other_tree_is_no_longer_in_the_store_all_is_loaded(bench, base, client, engine, tmp_path):
    one = bench.place(base, "workspace", FILES)
    two_files = FILES | {"d3/3": b"changed"}
    bench.run(one, "true")

    with closing(Workbench(engine.url, tmp_path)) as another:
        another.base(engine.busybox)
        for delta in base.deltas:
            another.place(State(base.base), "unique", unique_of(bench, delta))
        two = another.place(base, "workspace", two_files)
        assert seen(another, two) == seen(bench, bench.place(base, "workspace", two_files))

    assert len(layers_of(client, two)) == len(layers_of(client, one))


def unique_of(bench: Workbench, delta: PlacedTree) -> dict[str, bytes]:
    return {name.decode(): b"" for name in directory.decode(bench.objects.read(TREE, delta.tree))}


def test_an_image_that_says_of_itself_what_is_not_so_is_not_built_on(bench, base, client, engine):
    one, two = (bench.place(base, "workspace", FILES | {"n": data}) for data in (b"1", b"2"))
    bench.run(base, "true")
    container = client.api.create_container(
        engine.busybox, "true", labels=dict(siblings.labels_of(one, 0)) | {"reeval-build.state": two.content.hex}
    )
    client.api.commit(container, "reeval-build-test/liar", "1")
    client.api.remove_container(container)

    with bench.sandbox(two) as sandbox:
        assert succeed(sandbox, "cat /workspace/n; find /workspace -type f | wc -l") == b"2301\n"


@given(before=models, after=models)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_is_loaded_in_part_is_what_is_loaded_whole(bench, engine, monkeypatch, before, after):
    base = bench.place(bench.base(engine.busybox), "unique", {uuid.uuid4().hex: b""})
    one, two = keep(bench, base, before), keep(bench, base, after)
    with closing(docker.DockerClient(base_url=engine.url)) as client:
        whole = seen(bench, two)
        client.images.remove(f"{REPOSITORY}:{two.restored.hex}")
        if one != two:
            bench.run(one, "true")
        with monkeypatch.context() as patched:
            patched.setattr(siblings, "_FEW_FILES", 0)
            in_part = seen(bench, two)
        assert one == two or layers_of(client, two)[:-1] == layers_of(client, one)

    assert in_part == whole


def keep(bench: Workbench, base: State, model: Model) -> State:
    """The state with a tree placed on it whose files have bytes that the store has."""
    with bench.objects.batch() as batch:
        for data in (b"one", b"two"):
            batch.add(BLOB, data)

        def save(inner: Model) -> Digest:
            entries = {
                name: directory.Entry.directory(save(item)) if isinstance(item, dict) else item
                for name, item in inner.items()
            }
            return batch.add(TREE, directory.encode(entries))

        tree = save(model)
    return base.on_top(PlacedTree(at=(b"workspace",), tree=tree, replaces=True))
