"""What a step changed, read in both ways: from the overlay directory and out of a committed image."""

from __future__ import annotations

import shlex
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.digest import BLOB
from reeval_build.engines.docker.changes import UnkeepableChangeError
from reeval_build.engines.docker.committed import read_committed
from reeval_build.engines.docker.connection import Connection
from reeval_build.engines.docker.containers import OWNER_LABEL
from reeval_build.engines.docker.endpoint import Endpoint
from reeval_build.state.delta import DeltaEntry, DeltaKind
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.workbench import Workbench, keep_delta, listing, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.state.state import State

_BEFORE = r"""
umask 022
mkdir -p /w/gone/deep /w/again /w/moved/inner /w/kept
echo one > /w/edited; echo two > /w/deleted; echo three > /w/gone/deep/file; echo four > /w/again/old
echo five > /w/moved/inner/file; echo six > /w/chmodded; echo seven > /w/kept/untouched; echo eight > /w/linked
echo nine > /w/chowned; echo ten > /w/replaced; mkdir /w/was-directory; echo x > /w/was-directory/file
ln -s kept /w/link
"""
_STEP = r"""
umask 022
cd /w
echo new > added
echo more >> edited
rm deleted
rm -r gone
rm -r again; mkdir again; echo young > again/new
mv moved renamed
chmod 755 chmodded
chown 1000:2000 chowned
chmod 4750 /w/edited
ln -s /absolute/target absolute
ln -s nowhere/at/all dangling
rm link; ln -s edited link
ln linked linked-too
echo fresh > first; ln first second; mkdir sub; ln first sub/third
: > empty
dd if=/dev/zero bs=1M count=20 2>/dev/null | tr '\0' x > big
mkdir -p a/b/c/d/e/f/g/h/i/j/k/l/m/n; echo deep > a/b/c/d/e/f/g/h/i/j/k/l/m/n/o
echo odd > $'line\nbreak'; echo odd > $'\377\376'; echo odd > ' '; echo odd > $'\303\251'
echo odd > "$(printf '%0200d' 7)"
rm replaced; mkdir replaced; echo inside > replaced/file
rm -r was-directory; echo flat > was-directory
mkfifo pipe; mknod device c 1 3; mknod disk b 7 9
ln dangling dangling-too; ln pipe pipe-too
touch -d '1999-12-31 23:59:59' old
mkdir -m 1777 sticky
echo changed >> /etc/hosts
"""


@pytest.fixture(scope="module", params=[False, True], ids=["upper", "committed"])
def bench(request, engine: PrivateEngine, tmp_path_factory) -> Iterator[Workbench]:
    restore_base_images(engine)
    made = Workbench(engine.url, tmp_path_factory.mktemp("bench"), portable=request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def before(bench: Workbench, engine: PrivateEngine) -> State:
    # Times are no part of what a state is: so that no image of the other way's is taken, the states differ.
    return bench.step(bench.base(engine.busybox), f"{_BEFORE}echo {id(bench)} > /w/way")


@pytest.fixture(scope="module")
def changes(bench: Workbench, before: State) -> dict[bytes, DeltaEntry]:
    return bench.changes(before, _STEP)


def content(bench: Workbench, entry: DeltaEntry) -> bytes:
    data = bench.objects.read(BLOB, entry.content)
    assert len(data) == entry.size
    return data


def test_a_new_file_is_there_with_its_bytes(bench, changes):
    added = changes[b"w/added"]

    assert (added.kind, added.mode, added.uid, added.gid) == (DeltaKind.FILE, 0o644, 0, 0)
    assert content(bench, added) == b"new\n"


def test_an_edited_file_is_there_as_a_whole_with_its_setuid_bit(bench, changes):
    assert content(bench, changes[b"w/edited"]) == b"one\nmore\n"
    assert changes[b"w/edited"].mode == 0o4750


def test_what_was_not_touched_is_not_there(changes):
    assert b"w/kept/untouched" not in changes
    assert not any(path.startswith((b"bin", b"proc", b"sys", b"dev")) for path in changes)


def test_a_deleted_file_is_a_deletion_and_nothing_more(changes):
    assert changes[b"w/deleted"] == DeltaEntry(parts=(b"w", b"deleted"), kind=DeltaKind.DELETED)


def test_a_deleted_directory_is_one_deletion(changes):
    assert changes[b"w/gone"].kind is DeltaKind.DELETED
    assert b"w/gone/deep" not in changes


def test_a_directory_that_was_made_again_hides_what_was_in_it(changes):
    assert changes[b"w/again"].opaque
    assert changes[b"w/again/new"].kind is DeltaKind.FILE
    assert b"w/again/old" not in changes


def test_a_renamed_directory_is_deleted_here_and_made_there(bench, changes):
    assert changes[b"w/moved"].kind is DeltaKind.DELETED
    assert changes[b"w/renamed"].kind is DeltaKind.DIRECTORY
    assert content(bench, changes[b"w/renamed/inner/file"]) == b"five\n"


def test_a_change_of_mode_or_owner_alone_is_a_change(bench, changes):
    assert (changes[b"w/chmodded"].mode, content(bench, changes[b"w/chmodded"])) == (0o755, b"six\n")
    assert (changes[b"w/chowned"].uid, changes[b"w/chowned"].gid) == (1000, 2000)
    assert changes[b"w/sticky"].mode == 0o1777


@pytest.mark.parametrize(
    ("name", "target"),
    [(b"absolute", b"/absolute/target"), (b"dangling", b"nowhere/at/all"), (b"link", b"edited")],
)
def test_a_symbolic_link_is_kept_as_it_is_written(changes, name, target):
    assert changes[b"w/" + name].kind is DeltaKind.SYMLINK
    assert changes[b"w/" + name].target == target


def test_of_hard_links_the_first_is_the_file_and_all_say_what_is_in_it(bench, changes):
    assert changes[b"w/first"].kind is DeltaKind.FILE
    for name in (b"w/second", b"w/sub/third"):
        assert (changes[name].kind, changes[name].target) == (DeltaKind.HARD_LINK, b"w/first")
        assert content(bench, changes[name]) == b"fresh\n"


def test_a_hard_link_to_a_file_of_the_state_below_brings_that_file_along(changes):
    assert changes[b"w/linked"].kind is DeltaKind.FILE
    assert changes[b"w/linked-too"].target == b"w/linked"


def test_two_names_of_one_link_or_fifo_are_two_of_them(changes):
    assert changes[b"w/dangling-too"].target == b"nowhere/at/all"
    assert changes[b"w/pipe-too"].kind is DeltaKind.FIFO


def test_empty_big_and_deep_files_are_there(bench, changes):
    assert content(bench, changes[b"w/empty"]) == b""
    assert content(bench, changes[b"w/big"]) == b"x" * (20 << 20)
    assert content(bench, changes[b"w/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o"]) == b"deep\n"


@pytest.mark.parametrize("name", [b"line\nbreak", b"\xff\xfe", b" ", "é".encode(), b"7".zfill(200)], ids=repr)
def test_names_are_bytes(bench, changes, name):
    assert content(bench, changes[b"w/" + name]) == b"odd\n"


def test_a_file_in_place_of_a_directory_and_the_other_way_round(bench, changes):
    assert content(bench, changes[b"w/was-directory"]) == b"flat\n"
    assert changes[b"w/replaced"].kind is DeltaKind.DIRECTORY
    assert content(bench, changes[b"w/replaced/file"]) == b"inside\n"


def test_fifos_and_devices_are_there(changes):
    assert changes[b"w/pipe"].kind is DeltaKind.FIFO
    assert (changes[b"w/device"].kind, changes[b"w/device"].device) == (DeltaKind.CHARACTER_DEVICE, (1, 3))
    assert (changes[b"w/disk"].kind, changes[b"w/disk"].device) == (DeltaKind.BLOCK_DEVICE, (7, 9))


def test_modification_times_are_there_in_seconds(changes):
    assert changes[b"w/old"].mtime_s == 946684799


def test_what_the_engine_mounts_is_not_there(changes):
    assert not changes.keys() & {b"etc/hosts", b"etc/resolv.conf", b"etc/hostname", b".dockerenv"}


def test_both_ways_say_the_same_of_the_same_container(bench, before, engine):
    with (
        bench.sandbox(before) as sandbox,
        bench.objects.batch() as batch,
        closing(Connection(Endpoint(address=engine.url))) as connection,
    ):
        succeed(sandbox, _STEP)
        one = sandbox.capture(batch)
        other = read_committed(connection, sandbox.container, batch)

    assert one == other
    assert [entry.mtime_s for entry in one] == [entry.mtime_s for entry in other]


def test_a_state_with_the_changes_is_what_the_container_was(bench, before):
    with bench.sandbox(before) as sandbox, bench.objects.batch() as batch:
        succeed(sandbox, _STEP)
        expected = listing(sandbox, "/w")
        after = before.on_top(keep_delta(batch, sandbox.capture(batch)))

    with bench.sandbox(after) as sandbox:
        assert listing(sandbox, "/w") == expected


def test_a_step_that_changes_nothing_leaves_nothing(bench, before):
    assert bench.changes(before, "true") == {}


def test_a_layer_that_is_there_already_is_read_all_the_same(bench, before):
    script = "mkdir -m 700 /same; echo same > /same/file; touch -d @1 /same/file /same"
    once = bench.step(before, script)

    again = bench.changes(once, f"rm -r /same; {script}")

    assert content(bench, again[b"same/file"]) == b"same\n"


def test_a_socket_is_left_out_and_a_file_capability_is_kept(bench, engine):
    script = """python3 -c '
import os, socket
socket.socket(socket.AF_UNIX).bind("/tmp/socket")
open("/tmp/ping", "w").close()
os.setxattr("/tmp/ping", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
os.setxattr("/tmp/ping", "user.colour", b"green")
'"""
    changes = bench.changes(bench.base(engine.python_image), script)

    assert b"tmp/socket" not in changes
    assert changes[b"tmp/ping"].xattrs == (
        ("security.capability", bytes.fromhex("0100000200200000000000000000000000000000")),
    )


def test_a_name_that_layers_use_themselves_is_refused_with_its_path(bench, before):
    with bench.sandbox(before) as sandbox, bench.objects.batch() as batch:
        succeed(sandbox, "mkdir /w/sub; echo x > /w/sub/.wh.file")
        with pytest.raises(UnkeepableChangeError) as caught:
            sandbox.capture(batch)

    assert caught.value.path == b"w/sub/.wh.file"


def test_no_image_is_left_in_the_engine_by_reading(bench, before, engine):
    bench.changes(before, "echo > /w/more")

    with closing(docker.APIClient(base_url=engine.url)) as client:
        assert client.images(all=True, filters={"label": OWNER_LABEL}) == []


_BIND = """bind() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"; }; cd /w;"""


@pytest.fixture(scope="module")
def with_python(bench: Workbench, engine: PrivateEngine) -> State:
    files = f"echo x | tee a b d/f d/e/g gone/h é > /top; echo {id(bench)} > /w/way"
    state = bench.step(bench.base(engine.python_image), f"mkdir -p /w/d/e /w/gone; cd /w; {files}")
    return bench.step(state, "rm -r /w/gone /w/b; mkdir /w/gone")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("rm a; bind a", {b"w/a"}),
        ("rm é; bind é", {"w/é".encode()}),
        ("rm /top; bind /top", {b"top"}),
        ("rm -r d; bind d", {b"w/d"}),
        ("rm -r d/e; bind d/e", {b"w/d/e"}),
        ("rm -r d; mkdir d; bind d/f", set()),
        ("rm -r d; mkdir -p d/e; bind d/e/g", set()),
        ("bind new; bind b; bind gone/h; bind /also-new; bind $'\\377'", set()),
    ],
)
def test_a_socket_leaves_a_deletion_of_what_was_there(bench, with_python, script, expected):
    step = f"{_BIND} {script}"

    changes = bench.changes(with_python, f"bash -c {shlex.quote(step)}")

    assert {path for path, entry in changes.items() if entry.kind is DeltaKind.DELETED} == expected
    assert {entry.kind for entry in changes.values()} <= {DeltaKind.DELETED, DeltaKind.DIRECTORY}


def test_what_a_socket_replaced_is_not_back_in_the_next_step(bench, with_python):
    state = bench.step(with_python, f"{_BIND} rm a; bind a; rm -r d; bind d; rm /top; bind /top")

    assert bench.run(state, "cd /w; ls; ls /top").stdout == "gone\nway\né\n".encode()


def test_a_socket_in_the_place_of_a_file_whose_name_is_not_text_is_a_deletion_or_is_refused(bench, with_python):
    named = "name=$(printf '\\377');"
    state = bench.step(with_python, f'{named} echo x > "/w/$name"')

    with bench.sandbox(state) as sandbox, bench.objects.batch() as batch:
        succeed(sandbox, f'{_BIND} {named} rm "$name"; bind "$name"')
        try:
            outcome = {entry.path for entry in sandbox.capture(batch) if entry.kind is DeltaKind.DELETED}
        except UnkeepableChangeError as error:
            outcome = {error.path}

    # Of an engine that is asked, only that there is such a name is to be had.
    assert outcome in [{b"w/\xff"}, {"w/\N{REPLACEMENT CHARACTER}".encode()}]
