from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.docker.endpoint import Endpoint, EndpointError, current_endpoint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch, tmp_path) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


def configure(directory: Path, current: str, **hosts: str) -> None:
    (directory / "config.json").write_text(json.dumps({"currentContext": current}))
    for name, host in hosts.items():
        metadata = directory / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host}}}))


def test_without_any_setting_it_is_the_usual_socket():
    assert current_endpoint().address == "unix:///var/run/docker.sock"


def test_the_variable_wins(monkeypatch, tmp_path):
    configure(tmp_path, "desk", desk="unix:///desk.sock")
    monkeypatch.setenv("DOCKER_HOST", "tcp://build:2375")

    assert current_endpoint().address == "tcp://build:2375"


def test_an_address_of_a_kind_that_is_not_supported_is_named_once(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "ssh://build")

    with pytest.raises(EndpointError) as caught:
        current_endpoint()

    assert str(caught.value).count("ssh://build") == 1


def test_then_the_current_context_counts(tmp_path):
    configure(tmp_path, "desk", desk="unix:///desk.sock", other="unix:///other.sock")

    assert current_endpoint().address == "unix:///desk.sock"


def test_or_the_context_a_variable_names(monkeypatch, tmp_path):
    configure(tmp_path, "desk", desk="unix:///desk.sock", other="unix:///other.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "other")

    assert current_endpoint().address == "unix:///other.sock"


def test_a_context_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")

    with pytest.raises(EndpointError, match="nowhere"):
        current_endpoint()


def test_a_context_that_is_broken_is_an_error_of_the_settings(tmp_path):
    configure(tmp_path, "desk", desk="unix:///desk.sock")
    next((tmp_path / "contexts").rglob("meta.json")).write_text("{")

    with pytest.raises(EndpointError):
        current_endpoint()


def test_certificates_that_are_not_there_are_an_error_of_the_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", "tcp://build:2376")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path / "none"))

    with pytest.raises(EndpointError):
        current_endpoint()


@pytest.mark.parametrize(("address", "path"), [("unix:///a/b.sock", "/a/b.sock"), ("tcp://build:2375", None)])
def test_only_a_socket_is_certainly_of_this_machine(address, path):
    assert Endpoint(address=address).socket_path == path
