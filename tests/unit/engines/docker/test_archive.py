from __future__ import annotations

import io
import json
import tarfile

from reeval_build.engines.docker.archive import StateImage, docker_archive
from reeval_build.engines.docker.layers import Layer


def image(**changes) -> StateImage:
    fields = {
        "name": "state:1",
        "operating_system": "linux",
        "architecture": "arm64",
        "variant": "v8",
        "env": ("PATH=/bin",),
        "labels": {"b": "2", "a": "1"},
        "layers": ("sha256:aa", "sha256:bb"),
    }
    return StateImage(**(fields | changes))


def layer(diff_id: str, content: bytes) -> Layer:
    return Layer(diff_id=diff_id, size=len(content), stream=io.BytesIO(content))


def read(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file is not None}


def test_an_image_names_all_its_layers_and_the_archive_has_the_new_ones():
    files = read(b"".join(docker_archive([image()], [layer("sha256:bb", b"content")])))

    manifest = json.loads(files["manifest.json"])
    assert [(entry["RepoTags"], entry["Layers"]) for entry in manifest] == [(["state:1"], ["aa.tar", "bb.tar"])]
    assert files.keys() == {"bb.tar", "manifest.json", manifest[0]["Config"]}
    assert files["bb.tar"] == b"content"


def test_a_layer_that_comes_twice_is_written_once():
    files = b"".join(docker_archive([image()], [layer("sha256:bb", b"content"), layer("sha256:bb", b"content")]))

    with tarfile.open(fileobj=io.BytesIO(files)) as tar:
        assert tar.getnames().count("bb.tar") == 1


def test_a_configuration_says_what_commands_see_and_nothing_else():
    configuration = json.loads(image().configuration())

    assert configuration == {
        "architecture": "arm64",
        "os": "linux",
        "variant": "v8",
        "created": "1970-01-01T00:00:00Z",
        "config": {"Env": ["PATH=/bin"], "Labels": {"a": "1", "b": "2"}, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:aa", "sha256:bb"]},
    }


def test_a_configuration_does_not_depend_on_the_order_of_its_labels():
    assert image(labels={"a": "1", "b": "2"}).configuration() == image(labels={"b": "2", "a": "1"}).configuration()


def test_a_platform_without_a_variant_has_none():
    assert "variant" not in json.loads(image(variant="").configuration())
