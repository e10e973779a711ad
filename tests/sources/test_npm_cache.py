"""What is kept of npm packages, and what becomes of what is damaged there."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from reeval_build.sources.npm_cache import KnownPackage, PackageCache
from reeval_build.sources.npm_errors import PackageCacheError
from tests.sources.npm_registry import sha512

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path) -> PackageCache:
    return PackageCache(tmp_path / "cache")


def keep(cache: PackageCache, data: bytes) -> Path:
    with cache.scratch() as scratch:
        (scratch / "archive").write_bytes(data)
        cache.keep(scratch / "archive", sha512(data))
    [kept] = (cache.root / "archives").iterdir()
    return kept


def opened(cache: PackageCache, data: bytes) -> bytes | None:
    with cache.opened(sha512(data)) as archive:
        return None if archive is None else archive.read()


def test_an_archive_is_found_by_what_is_in_it(cache: PackageCache) -> None:
    assert opened(cache, b"1") is None
    keep(cache, b"1")

    assert (opened(cache, b"1"), opened(cache, b"2")) == (b"1", None)


def test_a_damaged_archive_is_not_handed_out_and_gives_place_to_another(cache: PackageCache) -> None:
    kept = keep(cache, b"1")
    kept.write_bytes(b"2")

    assert opened(cache, b"1") is None
    assert not kept.exists()
    keep(cache, b"1")
    assert opened(cache, b"1") == b"1"


ONE, TWO = (KnownPackage(name="a", version=version, integrity=sha512(b"1")) for version in ("1.0.0", "2.0.0"))


def test_what_is_known_is_found_by_all_that_it_is_known_of(cache: PackageCache) -> None:
    cache.remember("a", "bc", known=ONE)
    cache.remember("ab", "c", known=TWO)

    assert (cache.find("a", "bc"), cache.find("ab", "c"), cache.find("abc")) == (ONE, TWO, None)


def test_what_is_damaged_is_not_known(cache: PackageCache) -> None:
    cache.remember("a", known=ONE)
    [file] = (cache.root / "known").iterdir()
    whole = file.read_bytes()

    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert cache.find("a") in {None, ONE}
        file.write_bytes(whole[:at])
        assert cache.find("a") is None


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"name": 1}',
        b'{"name": "\\ud800", "version": "1", "integrity": "x", "check": "x"}',
    ],
)
def test_what_is_something_else_is_not_known(cache: PackageCache, other: bytes) -> None:
    cache.remember("a", known=ONE)
    [file] = (cache.root / "known").iterdir()
    file.write_bytes(other)

    assert cache.find("a") is None


def test_what_a_killed_process_left_is_removed_when_it_is_a_day_old(cache: PackageCache) -> None:
    for name, age_s in (("old", 90_000), ("young", 0)):
        left = cache.root / "incoming" / name
        left.mkdir(parents=True)
        (left / "file").write_bytes(b"1")
        os.utime(left, (time.time() - age_s,) * 2)

    with cache.scratch():
        pass

    assert [path.name for path in (cache.root / "incoming").iterdir()] == ["young"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = PackageCache(tmp_path / "file/cache")

    with pytest.raises(PackageCacheError) as caught, cache.errors(), cache.scratch():
        pass
    with pytest.raises(PackageCacheError):
        cache.find("a")
    with pytest.raises(PackageCacheError):
        opened(cache, b"1")

    assert caught.value.directory == tmp_path / "file/cache"
