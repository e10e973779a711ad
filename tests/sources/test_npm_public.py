"""A real package of the public registry, as npm is configured on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.sources.npm import NpmPackages
from reeval_build.tree.directory import Kind
from tests.sources.npm_world import NEEDS_NPM, PUBLIC, needs_public_registry
from tests.sources.trees import show

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.ports.objects import Objects

pytestmark = NEEDS_NPM

INTEGRITY = "sha512-GlaYyEb07DPxYCKhKzplCWBJtvxZcZMrL+4UkrTSJHHPyZU4mYYTv3qaOe77H7EODLSSopAUFAc6W8U4yqvscg=="
TREE = "cbb7d2d7a97f8f1a5e33741e3b02e1942d4de4dd80a8db59807b1f15715967de"


def test_a_published_package_is_read_as_it_was_published(tmp_path: Path, objects: Objects) -> None:
    resolved = needs_public_registry(tmp_path)

    with objects.batch() as batch:
        tree = NpmPackages(tmp_path / "npm").read(PUBLIC, resolved, batch)

    assert resolved.integrity == INTEGRITY
    assert tree.hex == TREE
    assert {name: kind for name, (kind, _) in show(objects, tree).items()} == {
        b"LICENSE": Kind.FILE,
        b"README.md": Kind.FILE,
        b"bin": Kind.DIRECTORY,
        b"bin/which.js": Kind.EXECUTABLE,
        b"lib": Kind.DIRECTORY,
        b"lib/index.js": Kind.FILE,
        b"package.json": Kind.FILE,
    }
