"""Subresource integrity, as far as packages have it (https://www.w3.org/TR/SRI/)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from io import BufferedReader

_STRONGEST_FIRST: Final = ("sha512", "sha384", "sha256", "sha1")
_SHA512: Final = "sha512-"


def integrity_of(archive: BufferedReader, algorithm: str = "sha512") -> str:
    """The integrity of the bytes of a file, from its beginning."""
    archive.seek(0)
    digest = hashlib.file_digest(archive, algorithm).digest()
    archive.seek(0)
    return f"{algorithm}-{base64.b64encode(digest).decode('ascii')}"


def hex_of(integrity: str) -> str | None:
    """The hexadecimal digits of a SHA-512 integrity, or None for anything else."""
    try:
        digest = base64.b64decode(integrity.removeprefix(_SHA512), validate=True)
    except (ValueError, binascii.Error):
        return None
    is_one = integrity.startswith(_SHA512) and len(digest) == hashlib.sha512().digest_size
    return digest.hex() if is_one else None


def sha512_in(claimed: str) -> str | None:
    """The one SHA-512 in what a registry says, without options, if there is just one."""
    hashes = _hashes(claimed, "sha512")
    return hashes[0] if len(hashes) == 1 and hex_of(hashes[0]) else None


def agrees(archive: BufferedReader, claimed: str) -> bool:
    """Whether the strongest of the hashes that a registry names is that of a file; a registry may name none."""
    for algorithm in _STRONGEST_FIRST:
        if hashes := _hashes(claimed, algorithm):
            return integrity_of(archive, algorithm) in hashes
    return True


def of_shasum(shasum: str) -> str:
    """The integrity that says the same as the hexadecimal SHA-1 of old packages; empty for anything else."""
    try:
        return f"sha1-{base64.b64encode(bytes.fromhex(shasum)).decode('ascii')}" if shasum else ""
    except ValueError:
        return ""


def _hashes(claimed: str, algorithm: str) -> list[str]:
    found = (one.partition("?")[0] for one in claimed.split())
    return sorted({one for one in found if one.startswith(f"{algorithm}-")})
