"""BLAKE3-256 digests, each in the domain of the kind of thing it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
from blake3 import blake3

if TYPE_CHECKING:
    from typing import BinaryIO

    from typing_extensions import Buffer

DIGEST_BYTES: Final = 32
CHUNK_BYTES: Final = 4 * 1024 * 1024
"""How much of a stream is read and hashed at once, which several processors then do together."""

_SHORT_HEX: Final = 12


@attrs.frozen(order=True, repr=False)
class Digest:
    """The 32 bytes that name a thing by its content."""

    raw: bytes = attrs.field()

    @raw.validator
    def _is_whole(self, _attribute: object, value: bytes) -> None:
        if not isinstance(value, bytes):
            raise TypeError(f"a digest is bytes, not {type(value).__name__}")
        if len(value) != DIGEST_BYTES:
            raise ValueError(f"a digest is {DIGEST_BYTES} bytes, not {len(value)}")

    def __hash__(self) -> int:
        """That of the bytes: there are many digests, and sets of them."""
        return hash(self.raw)

    @classmethod
    def parse(cls, text: str) -> Digest:
        """The digest that `hex` wrote. Raises ValueError for anything else."""
        digest = cls(bytes.fromhex(text))
        if digest.hex != text:
            raise ValueError("a digest is 64 lower-case hexadecimal digits and nothing between them")
        return digest

    @property
    def hex(self) -> str:
        """All 64 hexadecimal digits: the address."""
        return self.raw.hex()

    @property
    def short(self) -> str:
        """The first 12 hexadecimal digits: a label for people, never an address."""
        return self.raw.hex()[:_SHORT_HEX]

    def __repr__(self) -> str:
        return f"Digest({self.short})"


@attrs.frozen
class Domain:
    """A kind of hashed thing and the version of its format; no two domains share a digest."""

    kind: str
    schema: int

    _template: blake3 = attrs.field(init=False, repr=False, eq=False)

    @_template.default
    def _new(self) -> blake3:
        return blake3(derive_key_context=self._context)

    @property
    def _context(self) -> str:
        return f"reeval-build {self.kind} {self.schema}"

    def hasher(self) -> blake3:
        """A fresh BLAKE3 hasher in this domain (`derive_key` mode, so the domain comes before any byte)."""
        return self._template.copy()

    def wide_hasher(self) -> blake3:
        """One that uses every processor for what it is given at once, which must be much: see `CHUNK_BYTES`."""
        return blake3(derive_key_context=self._context, max_threads=blake3.AUTO)

    def digest_stream(self, source: BinaryIO) -> tuple[Digest, int]:
        """The digest of a stream to its end, and how many bytes that are.

        It is read and not mapped: a mapped file that somebody cuts short kills whoever looks at it.
        """
        hasher, size = self.wide_hasher(), 0
        while chunk := source.read(CHUNK_BYTES):
            hasher.update(chunk)
            size += len(chunk)
        return Digest(hasher.digest()), size

    def digest(self, data: Buffer) -> Digest:
        """The digest of `data` as a thing of this kind."""
        return Digest(self._template.copy().update(data).digest())


BLOB: Final = Domain("blob", 1)
TREE: Final = Domain("tree", 1)
DELTA: Final = Domain("delta", 1)
