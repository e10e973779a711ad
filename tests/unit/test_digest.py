from __future__ import annotations

import io
from itertools import combinations

import pytest

from reeval_build.digest import BLOB, CHUNK_BYTES, DELTA, TREE, Digest, Domain

SOME = Digest(bytes(range(32)))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_digest_is_32_bytes(length):
    with pytest.raises(ValueError, match=f"a digest is 32 bytes, not {length}"):
        Digest(bytes(length))


def test_a_digest_is_made_of_bytes_only():
    with pytest.raises(TypeError):
        Digest("a" * 32)  # type: ignore[arg-type]


def test_hex_is_the_whole_address_and_short_its_beginning():
    assert SOME.hex == "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    assert SOME.short == "000102030405"


def test_parse_reads_what_hex_wrote():
    assert Digest.parse(SOME.hex) == SOME


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ab",
        SOME.short,
        SOME.hex + "00",
        SOME.hex.upper(),
        " " + SOME.hex,
        SOME.hex[:-1] + "g",
        SOME.hex[:32] * 3,
        SOME.hex[:2] + " " + SOME.hex[2:],
    ],
)
def test_parse_refuses_any_other_spelling(text):
    with pytest.raises(ValueError):  # noqa: PT011 - which clause it is does not matter
        Digest.parse(text)


def test_digests_sort_by_their_bytes():
    low, high = Digest(b"\0" * 31 + b"\1"), Digest(b"\1" + b"\0" * 31)

    assert sorted([high, low]) == [low, high]


def test_one_content_in_two_domains_has_two_digests():
    domains = [BLOB, TREE, DELTA, Domain("blob", 2), Domain("blob 1", 2), Domain("blo", 1), Domain("blob", 11)]

    assert all(one.digest(b"x") != other.digest(b"x") for one, other in combinations(domains, 2))


def test_no_content_imitates_a_domain():
    plain = Domain("plain", 1)

    assert TREE.digest(b"x") != plain.digest(b"reeval-build tree 1" + b"x")


def test_bytes_that_come_in_pieces_have_the_digest_of_the_whole():
    hasher = BLOB.hasher()
    for piece in (b"", b"one", b" ", b"two" * 100_000):
        hasher.update(piece)

    assert Digest(hasher.digest()) == BLOB.digest(b"one " + b"two" * 100_000)


def test_hashers_of_a_domain_do_not_share_what_they_were_fed():
    BLOB.hasher().update(b"something")

    assert Digest(BLOB.hasher().digest()) == BLOB.digest(b"")


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 7])
def test_a_stream_has_the_digest_of_the_bytes_that_it_gives(size):
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)

    assert BLOB.digest_stream(io.BytesIO(data)) == (BLOB.digest(data), size)
