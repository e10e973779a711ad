"""What an author may write for an npm package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.sources.npm_errors import UnsupportedSpecError
from reeval_build.sources.npm_registry import configured_registry
from reeval_build.sources.npm_specs import PathSpec, RegistrySpec, parse_spec

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "name", "wanted", "version"),
    [
        ("one", "one", "", None),
        ("one@", "one", "", None),
        ("one@latest", "one", "latest", None),
        ("one@1.2.3", "one", "1.2.3", "1.2.3"),
        ("one@ 1.2.3", "one", "1.2.3", "1.2.3"),
        ("one@v1.2.3-rc.1", "one", "v1.2.3-rc.1", "1.2.3-rc.1"),
        ("one@=1.2.3+build.5", "one", "=1.2.3+build.5", "1.2.3"),
        ("one@1.2", "one", "1.2", None),
        ("one@1.02.3", "one", "1.02.3", None),
        ("one@^1.2.3", "one", "^1.2.3", None),
        ("one@>=1.0.0 <2 || 3.x", "one", ">=1.0.0 <2 || 3.x", None),
        ("@acme/p_q.r", "@acme/p_q.r", "", None),
        ("@acme/p@1.0.0", "@acme/p", "1.0.0", "1.0.0"),
        ("JSONStream@1.0.0", "JSONStream", "1.0.0", "1.0.0"),
    ],
)
def test_a_name_of_a_registry_is_taken_apart(text: str, name: str, wanted: str, version: str | None) -> None:
    spec = parse_spec(text)

    assert spec == RegistrySpec(text, name, wanted)
    assert isinstance(spec, RegistrySpec)
    assert spec.version == version


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:/a/b", "/a/b"),
        ("file:///a/b.tgz", "/a/b.tgz"),
        ("file:/a b#c%41?d@e", "/a b#c%41?d@e"),
        ("file:/a\nb", "/a\nb"),
    ],
)
def test_a_path_is_taken_as_it_is_written(text: str, path: str) -> None:
    assert parse_spec(text) == PathSpec(text, path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-g",
        "--registry=http://evil",
        "@acme",
        "@acme/",
        "@/p",
        "a/b",
        "./a",
        "../a",
        "/a/b",
        "~/a",
        ".hidden",
        "_private",
        "one@npm:other@1.0.0",
        "one@git+https://host/x.git",
        "one@file:../x",
        "one@1.0.0\n--registry=http://evil",
        "one two",
        "\u0661ne",
        "n" * 215,
        "git+ssh://git@host/x.git",
        "git://host/x.git",
        "github:owner/repo",
        "owner/repo#main",
        "https://host/x.tgz",
        "file:a/b",
        "file:./a",
        "file:~/a",
        "file://host/a",
        "file:/a\0b",
        "file:",
        "FILE:/a",
    ],
)
def test_anything_else_is_refused_and_told_what_to_write(text: str) -> None:
    with pytest.raises(UnsupportedSpecError) as caught:
        parse_spec(text)

    assert caught.value.spec == text
    assert caught.value.hint is not None
    assert 'write "name@1.2.3" or "file:/path/to/it"' in caught.value.hint


@given(st.text())
def test_no_text_is_taken_for_an_option_or_for_a_url(text: str) -> None:
    try:
        spec = parse_spec(text)
    except UnsupportedSpecError:
        return
    if isinstance(spec, RegistrySpec):
        assert not spec.name.startswith("-")
        assert ":" not in text
        assert text.isprintable()
    else:
        assert spec.path.startswith("/")


def test_credentials_in_a_url_are_not_shown() -> None:
    with pytest.raises(UnsupportedSpecError) as caught:
        parse_spec("git+https://user:s3cret@host/x.git")

    assert "s3cret" not in str(caught.value)
    assert "git+https://host/x.git" in str(caught.value)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of a user, which is not there yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home/.npmrc"


def test_registries_are_told_apart_as_npm_does(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / "node_modules").mkdir(parents=True)
    (project / "src").mkdir()

    assert configured_registry("@acme/p", project) == ""

    user.write_text(
        "registry = http://user\n; registry=http://comment\n//host/:_authToken=t\n@acme:registry=http://acme/\n"
    )
    assert configured_registry("p", project / "src") == "http://user"
    assert configured_registry("@acme/p", project / "src") == "http://acme"
    assert configured_registry("@other/p", project / "src") == "http://user"

    monkeypatch.setenv("HERE", "127.0.0.1")
    (project / ".npmrc").write_text('registry="https://me:s3cret@${HERE}/npm/"\n')
    assert configured_registry("p", project / "src") == "https://127.0.0.1/npm"
    assert configured_registry("p", None) == "http://user"
    assert configured_registry("@acme/p", project / "src") == "http://acme"

    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://environment")
    assert configured_registry("p", project) == "http://environment"
