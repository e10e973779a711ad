"""States as images: placed trees, deltas, and what happens when images go away."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.engines.docker.images import FORMAT_LABEL, REPOSITORY, STATE_LABEL, TooManyLayersError
from reeval_build.errors import CancelledError
from reeval_build.ports.objects import LostObjectError
from reeval_build.state.delta import DeltaEntry, DeltaKind
from reeval_build.state.state import State, StepDelta
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.workbench import Workbench, listing, run, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPABILITY = bytes.fromhex("0100000200200000000000000000000000000000")


@pytest.fixture
def bench(engine: PrivateEngine, tmp_path) -> Iterator[Workbench]:
    with closing(Workbench(engine.url, tmp_path)) as made:
        yield made


@pytest.fixture
def client(engine: PrivateEngine) -> Iterator[docker.DockerClient]:
    with closing(docker.DockerClient(base_url=engine.url)) as made:
        yield made


@pytest.fixture
def base(bench: Workbench, engine: PrivateEngine) -> State:
    """A state of which no image is in the engine yet."""
    return bench.place(bench.base(engine.busybox), "unique", {uuid.uuid4().hex: b""})


def image_of(state: State) -> str:
    return f"{REPOSITORY}:{state.restored.hex}"


def prune(client: docker.DockerClient, engine: PrivateEngine) -> None:
    client.images.prune(filters={"dangling": False})
    restore_base_images(engine)


def test_placed_files_are_there_with_one_owner_two_modes_and_one_time(bench, base):
    state = bench.place(base, "workspace", {"src/main.py": b"print()\n", "run.sh*": b"#!/bin/sh\n"})

    with bench.sandbox(state) as sandbox:
        seen = succeed(sandbox, "cd /workspace; stat -c '%a %u:%g %Y %n' . src src/main.py run.sh; cat src/main.py")

    assert seen.splitlines() == [
        b"755 0:0 946684800 .",
        b"755 0:0 946684800 src",
        b"644 0:0 946684800 src/main.py",
        b"755 0:0 946684800 run.sh",
        b"print()",
    ]


@pytest.mark.parametrize(("replaces", "expected"), [(True, b"new\n"), (False, b"new\nold\n")])
def test_a_placed_tree_replaces_what_was_there_or_joins_it(bench, base, replaces, expected):
    below = bench.place(base, "workspace", {"old": b""})
    state = bench.place(below, "workspace", {"new": b""}, replaces=replaces)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "ls /workspace") == expected


def test_a_tree_can_be_placed_deep_where_nothing_is(bench, base):
    state = bench.place(base, "root/.config/agent", {"settings": b"on\n"}, replaces=False)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "cat ~/.config/agent/settings; stat -c %a ~/.config") == b"on\n755\n"


def test_a_delta_is_restored_with_all_it_says(bench, base):
    digest = bench.keep(b"program")
    top = {"kind": DeltaKind.FILE, "digest": digest, "size": 7, "uid": 10, "gid": 20, "mtime_s": 981173106}
    state = bench.by_hand(
        base,
        DeltaEntry(parts=(b"d",), kind=DeltaKind.DIRECTORY, mode=0o2775, gid=5, mtime_s=981173106),
        DeltaEntry(parts=(b"d", b"suid"), mode=0o6755, **top),
        DeltaEntry(parts=(b"d", b"too"), mode=0o6755, **(top | {"kind": DeltaKind.HARD_LINK, "target": b"d/suid"})),
        DeltaEntry(parts=(b"d", b"fifo"), kind=DeltaKind.FIFO, mode=0o640),
        DeltaEntry(parts=(b"d", b"null"), kind=DeltaKind.CHARACTER_DEVICE, mode=0o666, device=(1, 3)),
    )

    with bench.sandbox(state) as sandbox:
        seen = succeed(sandbox, "stat -c '%n %F %a %u:%g %h %Y %t,%T' /d /d/suid /d/too")
        nodes = succeed(sandbox, "stat -c '%n %a %t,%T' /d/fifo /d/null")

    assert seen.splitlines()[0].startswith(b"/d directory 2775 0:5 ")
    assert seen.splitlines()[1:] == [
        b"/d/suid regular file 6755 10:20 2 981173106 0,0",
        b"/d/too regular file 6755 10:20 2 981173106 0,0",
    ]
    assert nodes == b"/d/fifo 640 0,0\n/d/null 666 1,3\n"


def test_a_file_capability_survives_being_stored_and_restored(bench, base):
    entry = DeltaEntry(
        parts=(b"ping",),
        kind=DeltaKind.FILE,
        mode=0o755,
        digest=bench.keep(b"program"),
        size=7,
        xattrs=(("security.capability", CAPABILITY),),
    )

    changes = bench.changes(bench.by_hand(base, entry), "mv /ping /pong")

    assert changes[b"pong"].xattrs == (("security.capability", CAPABILITY),)


def test_a_state_without_a_delta_is_the_base_as_it_is(bench, engine):
    with bench.sandbox(bench.base(engine.busybox)) as sandbox:
        assert succeed(sandbox, "test -x /bin/busybox && echo there") == b"there\n"


def test_an_empty_delta_is_a_state_like_any_other(bench, base):
    with bench.sandbox(bench.by_hand(base)) as sandbox:
        assert succeed(sandbox, "echo works") == b"works\n"


def test_an_image_is_loaded_once_for_a_state_and_each_one_below_it(bench, base, client):
    one = bench.place(base, "workspace", {"a": b"1"})
    two = bench.place(one, "workspace", {"b": b"2"}, replaces=False)

    bench.run(two, "true")
    loaded = {image_of(state): client.images.get(image_of(state)).attrs for state in (base, one, two)}
    bench.run(two, "true")

    assert client.images.get(image_of(two)).attrs == loaded[image_of(two)]
    layers = [len(attrs["RootFS"]["Layers"]) for attrs in loaded.values()]
    assert layers == [layers[0], layers[0] + 1, layers[0] + 2]
    assert loaded[image_of(two)]["Config"]["Labels"][STATE_LABEL] == two.restored.hex


def test_only_the_deltas_above_the_nearest_image_are_read_from_the_store(bench, base):
    one = bench.place(base, "workspace", {"a": b"1"})
    bench.run(one, "true")
    two = bench.place(one, "workspace", {"b": b"2"}, replaces=False)
    read = []
    original = bench.objects.read

    def read_and_note(domain, digest):
        read.append(digest)
        return original(domain, digest)

    bench.objects.read = read_and_note
    bench.run(two, "true")

    assert two.deltas[-1].tree in read
    assert one.deltas[-1].tree not in read


@pytest.mark.conforms("fault 32")
def test_after_everything_is_pruned_a_state_starts_from_the_store_alone(bench, base, client, engine):
    state = bench.step(
        bench.place(base, "workspace", {"a": b"1", "gone": b"2"}), "echo 3 > /workspace/b; chown 7:8 /root"
    )
    state = bench.step(state, "rm /workspace/gone")
    with bench.sandbox(state) as sandbox:
        before = listing(sandbox, "/workspace"), listing(sandbox, "/root")
    prune(client, engine)
    assert not client.images.list(REPOSITORY)

    with bench.sandbox(state) as sandbox:
        assert (listing(sandbox, "/workspace"), listing(sandbox, "/root")) == before


def test_a_base_that_went_away_during_the_run_is_pulled_again(bench, client, engine):
    state = bench.place(bench.base(engine.registry_busybox), "workspace", {"a": b"1"})
    for image in client.images.list():
        client.images.remove(image.id, force=True)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "cat /workspace/a") == b"1"


def test_an_image_that_only_has_the_name_of_a_state_is_not_taken_for_it(bench, base, client, engine):
    state = bench.place(base, "workspace", {"a": b"right"})
    client.images.get(engine.busybox).tag(REPOSITORY, state.restored.hex)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "cat /workspace/a") == b"right"


def test_an_image_of_another_format_is_made_anew(bench, base, client, engine):
    state = bench.place(base, "workspace", {"a": b"right"})
    container = client.api.create_container(
        engine.busybox, "true", labels={STATE_LABEL: state.restored.hex, FORMAT_LABEL: "0"}
    )
    client.api.commit(container, REPOSITORY, state.restored.hex)
    client.api.remove_container(container)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "cat /workspace/a") == b"right"


def test_threads_that_start_the_same_state_at_once_all_get_it(bench, base):
    lower = bench.place(base, "workspace", {"one": b"1", "two": b"2"})
    upper = bench.place(lower, "workspace", {"three": b"3"}, replaces=False)
    beginning = threading.Barrier(4)

    def start(wanted: State) -> bytes:
        beginning.wait()
        with bench.sandbox(wanted) as sandbox:
            return succeed(sandbox, "cd /workspace; ls")

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(start, [upper, upper, lower, upper]))

    assert seen == [b"one\nthree\ntwo\n", b"one\nthree\ntwo\n", b"one\ntwo\n", b"one\nthree\ntwo\n"]


def test_a_state_of_more_layers_than_the_engine_takes_is_refused_before_anything_is_read(bench, base):
    state = State(base.base, base.deltas * 125)

    with pytest.raises(TooManyLayersError) as caught, bench.sandbox(state):
        pass

    assert caught.value.layers == 126


def test_a_state_of_as_many_layers_as_the_engine_takes_starts(bench, base):
    state = State(base.base, base.deltas * 124)

    with bench.sandbox(state) as sandbox:
        assert succeed(sandbox, "ls / | grep unique") == b"unique\n"


def test_a_state_whose_delta_is_not_in_the_store_says_which(bench, base):
    lost = base.content
    with pytest.raises(LostObjectError) as caught, bench.sandbox(base.on_top(StepDelta(delta=lost, times=lost))):
        pass

    assert caught.value.digest == lost


def test_nothing_is_loaded_for_a_run_that_was_told_to_stop(bench, base, client):
    state = bench.place(base, "workspace", {"a": b"1"})
    bench.cancel.set()

    with pytest.raises(CancelledError), bench.sandbox(state):
        pass

    with pytest.raises(docker.errors.ImageNotFound):
        client.images.get(image_of(state))


@pytest.mark.conforms("80")
def test_no_environment_of_a_command_is_in_any_image_container_or_label(bench, base, client):
    secret = "correct-horse-battery"
    with bench.sandbox(base) as sandbox, bench.objects.batch() as batch:
        assert run(sandbox, "test -n $TOKEN", TOKEN=secret).code == 0
        container = client.containers.get(sandbox.container)
        sandbox.capture(batch)
        seen = [container.attrs, *(image.attrs for image in client.images.list(all=True)), *client.api.images(all=True)]

    assert secret not in repr(seen)


def test_nothing_an_image_says_about_running_it_gets_in_between(bench, client, engine):
    changes = [
        'ENTRYPOINT ["/bin/false"]',
        "USER nobody",
        "WORKDIR /var/tmp",
        "VOLUME /root",
        "HEALTHCHECK CMD touch /healthy",
        "ENV COLOUR=green",
    ]
    container = client.api.create_container(engine.busybox, ["touch", "/root/kept"])
    client.api.start(container)
    client.api.wait(container)
    client.api.commit(container, "reeval-build-test/odd", "1", changes="\n".join(changes))
    client.api.remove_container(container)

    changed = bench.step(bench.base("reeval-build-test/odd:1"), "id -u; echo $COLOUR > /root/colour")

    with bench.sandbox(changed) as sandbox:
        assert succeed(sandbox, "id -u; pwd; cat /root/colour; ls /root") == b"0\n/\ngreen\ncolour\nkept\n"
