"""The format of the lock file, and what is said of one that is broken."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.digest import Domain
from reeval_build.errors import PlanError
from reeval_build.loading.lock_file import LockFileError, lock_path, lock_text, read_locks
from reeval_build.loading.lock_writing import change_locks
from reeval_build.plan.locks import LOCK_NAME, LockedHarness, LockedImage, Locks

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = Domain("test content", 1).digest(b"")
DIGEST = "sha256:" + "1" * 64
LOCKED = LockedImage(content=CONTENT, digest=DIGEST)
LOCAL = LockedImage(content=CONTENT, image=DIGEST)
TEXT = f"""\
{{
  "format": 1,
  "images": {{
    "a:1": {{
      "linux/amd64": {{
        "content": "{CONTENT.hex}",
        "digest": "{DIGEST}"
      }},
      "linux/arm64/v8": {{
        "content": "{CONTENT.hex}",
        "image": "{DIGEST}"
      }}
    }},
    "b:1": {{
      "linux/amd64": {{
        "content": "{CONTENT.hex}",
        "digest": "{DIGEST}"
      }}
    }}
  }}
}}
"""

INTEGRITY = f"sha512-{'A' * 86}=="
HARNESS = LockedHarness(package="@openai/codex", requested="latest", version="1.2.3", integrity=INTEGRITY)
WITH_HARNESS = f"""\
{{
  "format": 1,
  "harnesses": {{
    "codex": {{
      "integrity": "{INTEGRITY}",
      "package": "@openai/codex",
      "requested": "latest",
      "version": "1.2.3"
    }}
  }},
  "images": {{}}
}}
"""

digests = st.binary(min_size=32, max_size=32).map(lambda raw: f"sha256:{raw.hex()}")
contents = st.binary(max_size=4).map(Domain("test content", 1).digest)
locked = st.builds(LockedImage, content=contents, digest=digests) | st.builds(
    LockedImage, content=contents, image=digests
)
images = st.dictionaries(
    st.sampled_from(["a:1", "b:1", "ghcr.io/a/b:latest", "localhost:5000/c:x"]),
    st.dictionaries(st.sampled_from(["linux/amd64", "linux/arm64/v8", "linux/arm/v7"]), locked, min_size=1),
)

harnesses = st.dictionaries(
    st.sampled_from(["codex", "pi"]),
    st.builds(
        LockedHarness,
        package=st.sampled_from(["@openai/codex", "pi"]),
        requested=st.sampled_from(["latest", "1.0.0"]),
        version=st.sampled_from(["1.0.0", "2.0.0-rc.1"]),
        integrity=st.just(INTEGRITY),
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / LOCK_NAME


def test_the_format_is_as_documented(path: Path) -> None:
    locks = Locks(images={"b:1": {"linux/amd64": LOCKED}, "a:1": {"linux/arm64/v8": LOCAL, "linux/amd64": LOCKED}})

    assert lock_text(locks) == TEXT
    path.write_text(TEXT)
    assert read_locks(path) == locks


def test_the_format_of_harnesses_is_as_documented(path: Path) -> None:
    locks = Locks(harnesses={"codex": HARNESS})

    assert lock_text(locks) == WITH_HARNESS
    path.write_text(WITH_HARNESS)
    assert read_locks(path) == locks


@given(images, harnesses)
def test_what_is_written_is_read_again(tmp_path_factory, images, harnesses):
    path = tmp_path_factory.mktemp("lock") / LOCK_NAME
    path.write_text(lock_text(Locks(images=images, harnesses=harnesses)))

    assert read_locks(path) == Locks(images=images, harnesses=harnesses)


@given(st.tuples(images, harnesses), st.tuples(images, harnesses))
def test_equal_locks_are_equal_text(one, other):
    def text(images, harnesses):
        locks = Locks(images=dict(reversed(images.items())), harnesses=dict(reversed(harnesses.items())))
        return lock_text(locks)

    assert (text(*one) == text(*other)) is (one == other)


def test_no_file_locks_nothing(path: Path) -> None:
    assert read_locks(path) == Locks()


@pytest.mark.parametrize("data", [TEXT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + TEXT.encode()])
def test_line_endings_and_marks_of_editors_do_no_harm(path: Path, data: bytes) -> None:
    path.write_bytes(data)

    change_locks(path, lambda locks: locks.with_image("a:1", "linux/amd64", LOCKED))

    assert path.read_bytes() == data, "what says the same already is not written anew"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is not as it was written: "),
        ("[]", "it is not an object"),
        ("{}", "its format is None, which is not a whole number above zero"),
        ('{"format": true}', "its format is True"),
        ('{"format": 0}', "its format is 0"),
        ('{"format": 2, "images": 7}', "it is of format 2, and this version knows up to 1 (use a newer reeval-build)"),
        ('{"format": 1, "format": 1}', "it is not as it was written: it has 'format' twice"),
        ("[" * 100_000, "it is not as it was written: "),
        ('{"format": 1, "images": []}', "images is not an object"),
        ('{"format": 1, "images": {"a": {}}}', "'a' is not how the name of an image is written here"),
        ('{"format": 1, "images": {"None": {}}}', "'None' is not how the name"),
        ('{"format": 1, "images": {"../a:1": {}}}', "'../a:1' is not how the name"),
        ('{"format": 1, "images": {"a:1": {"amd64": {}}}}', "'amd64' of a:1 is no platform"),
        (TEXT.replace('"digest"', '"tag"', 1), "a:1 for linux/amd64 must have content, and one of digest and image"),
        (TEXT.replace('"content"', '"digest"', 1), "it is not as it was written: it has 'digest' twice"),
        (TEXT.replace(DIGEST, "sha256:1", 1), "the digest of a:1 for linux/amd64 is not sha256: and 64"),
        (TEXT.replace(DIGEST, f"{DIGEST}/json?x=", 1), "the digest of a:1 for linux/amd64 is not sha256: and 64"),
        (TEXT.replace(CONTENT.hex, CONTENT.short, 1), "the content of a:1 for linux/amd64 is not 64"),
        (TEXT.replace(f'"{CONTENT.hex}"', "1", 1), "the content of a:1 for linux/amd64 is not 64"),
        ('{"format": 1, "harnesses": 7}', "harnesses is not an object"),
        ('{"format": 1, "harnesses": {"codex": []}}', "harness 'codex' is not an object"),
        (WITH_HARNESS.replace('"codex"', r'"\u001b[31m"'), r"'\x1b[31m' is no kind of a harness"),
        (WITH_HARNESS.replace('"version"', '"versions"'), "harness 'codex' must have package, requested, version, int"),
        (WITH_HARNESS.replace('"1.2.3"', '"1.2.3; id"'), "the version of harness 'codex' is '1.2.3; id'"),
        (WITH_HARNESS.replace('"1.2.3"', '"latest"'), "the version of harness 'codex' is 'latest'"),
        (WITH_HARNESS.replace('"1.2.3"', "123"), "the version of harness 'codex' is 123"),
        (WITH_HARNESS.replace('"latest"', '"^1"'), "the requested of harness 'codex' is '^1'"),
        (WITH_HARNESS.replace("sha512-", "sha1-"), "the integrity of harness 'codex' is 'sha1-"),
        (WITH_HARNESS.replace('"@openai/codex"', '""'), "the package of harness 'codex' is ''"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_lost(path: Path, text: str, problem: str) -> None:
    path.write_text(text)

    for attempt in (read_locks, lambda path: change_locks(path, lambda locks: locks.without("a:1"))):
        with pytest.raises(LockFileError) as caught:
            attempt(path)
        assert str(caught.value).startswith(f"{path}: {problem}")
    assert path.read_text() == text


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_marks_of_a_merge_conflict_are_called_so(path: Path, ending: str) -> None:
    lines = ["{", "<<<<<<< HEAD", '"format": 1', "=======", '"format": 2', ">>>>>>> other", "}", ""]
    path.write_bytes(ending.join(lines).encode())

    with pytest.raises(LockFileError, match="marks of a merge conflict in line 2"):
        read_locks(path)


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    path.mkdir()

    with pytest.raises(LockFileError, match="it cannot be read: is a directory"):
        read_locks(path)


def test_sections_of_later_versions_stay(path: Path) -> None:
    path.write_text('{"format": 1, "later": {"codex": {"version": "1"}}, "images": {}}')

    change_locks(path, lambda locks: locks.with_image("a:1", "linux/amd64", LOCKED))

    assert json.loads(path.read_text())["later"] == {"codex": {"version": "1"}}
    assert read_locks(path).images == {"a:1": {"linux/amd64": LOCKED}}


def test_it_is_beside_the_nearest_pyproject(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert lock_path(below) == below / LOCK_NAME

    (tmp_path / "pyproject.toml").touch()
    assert lock_path(below) == tmp_path / LOCK_NAME

    (tmp_path / "a" / "pyproject.toml").touch()
    assert lock_path(below) == tmp_path / "a" / LOCK_NAME
    assert lock_path(tmp_path) == tmp_path / LOCK_NAME


def test_one_that_is_there_is_found_from_below(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / LOCK_NAME).touch()

    assert lock_path(below) == tmp_path / "a" / LOCK_NAME


def test_a_link_and_a_mode_stay(tmp_path: Path, path: Path) -> None:
    shared = tmp_path / "shared.lock"
    shared.write_text(lock_text(Locks()))
    shared.chmod(0o640)
    path.symlink_to(shared.name)

    change_locks(path, lambda locks: locks.with_image("a:1", "linux/amd64", LOCKED))

    assert path.is_symlink()
    assert read_locks(shared).images == {"a:1": {"linux/amd64": LOCKED}}
    assert stat.S_IMODE(shared.stat().st_mode) == 0o640


def test_what_a_killed_writer_left_goes(path: Path) -> None:
    left = path.with_name(f".{LOCK_NAME}.0123456789abcdef")
    left.touch()

    change_locks(path, lambda locks: locks.with_image("a:1", "linux/amd64", LOCKED))

    assert list(path.parent.iterdir()) == [path]


def test_a_change_that_fails_leaves_everything_as_it_was(path: Path) -> None:
    path.write_text(TEXT)

    def refuse(_locks: Locks) -> Locks:
        raise PlanError("no")

    with pytest.raises(PlanError):
        change_locks(path, refuse)

    assert path.read_text() == TEXT
    assert list(path.parent.iterdir()) == [path]


WRITER = """
import sys
from pathlib import Path
from reeval_build.loading.lock_writing import change_locks
from reeval_build.plan.locks import LockedImage
from reeval_build.digest import Digest

for number in range(20):
    one = LockedImage(content=Digest(bytes(32)), digest="sha256:" + "0" * 64)
    change_locks(Path(sys.argv[1]), lambda locks: locks.with_image(f"{sys.argv[2]}:{number}", "linux/amd64", one))
"""


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in "abcd"]

    assert [writer.wait() for writer in writers] == [0] * 4

    assert sorted(read_locks(path).images) == sorted(f"{name}:{number}" for name in "abcd" for number in range(20))
    assert list(path.parent.iterdir()) == [path]
