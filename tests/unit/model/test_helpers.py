from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reeval_build import define_environment, docker, fake_sandbox, file, git
from reeval_build.errors import DefinitionError
from reeval_build.model.spec import DEFAULT_IMAGE, DockerSandbox, FakeSandbox, GitWorkspace, InstallStep

HERE = Path(__file__).parent


def problem(make) -> str:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


def test_a_container_without_options_is_the_documented_default_image():
    assert docker() == DockerSandbox(image=None, install=())
    assert docker().base_image == DEFAULT_IMAGE == "node:24-bookworm"
    assert docker(from_="x:1").base_image == "x:1"


def test_image_is_another_spelling_of_from():
    assert docker(from_="x:1") == docker(image="x:1") == DockerSandbox(image="x:1")


def test_two_images_at_once_are_refused():
    assert problem(lambda: docker(from_="x:1", image="x:1")) == (
        "docker() takes from_ or image, not both: they are two names of one thing"
    )


@pytest.mark.parametrize(
    ("image", "got"), [("", '""'), (" ", '" "'), (3, "3"), ("a\0", '"a\\u0000"'), (["x"], '["x"]')]
)
def test_an_image_without_a_name_is_refused(image, got):
    for make in (lambda: docker(from_=image), lambda: docker(image=image)):
        assert problem(make) == f"from_ in docker() must name an image (got {got})"


def test_install_steps_are_commands_with_a_time_limit():
    steps = docker(install=["a", {"run": "b"}, {"run": "c", "timeout": "10m"}, InstallStep(run="d")]).install

    assert [(step.run, step.timeout_s) for step in steps] == [("a", 300), ("b", 300), ("c", 600), ("d", 300)]


@pytest.mark.parametrize(("install", "got"), [("a", '"a"'), (None, "null"), (3, "3"), ({"run": "a"}, '{"run":"a"}')])
def test_an_install_that_is_no_list_is_refused(install, got):
    assert problem(lambda: docker(install=install)) == f"install in docker() must be a list (got {got})"


@pytest.mark.parametrize(
    ("step", "got"),
    [
        (3, "3"),
        ("", '""'),
        ("a\0", '"a\\u0000"'),
        ({}, "{}"),
        ({"run": 3}, '{"run":3}'),
        ({"run": "a", "cwd": "."}, '{"run":"a","cwd":"."}'),
        ({"run": "a", "env": {}}, '{"run":"a","env":{}}'),
    ],
)
def test_an_install_step_that_is_no_command_is_refused_by_its_place(step, got):
    assert problem(lambda: docker(install=["a", step])) == (
        f"install[1] in docker() must be a command string or {{ run, timeout? }} (got {got})"
    )


@pytest.mark.parametrize(("timeout", "got"), [(0, "0"), ("soon", '"soon"'), (None, "null")])
def test_an_install_step_with_a_bad_time_limit_is_refused(timeout, got):
    assert problem(lambda: docker(install=[{"run": "a", "timeout": timeout}])) == (
        "install[0] in docker() has a bad timeout; use seconds or text such as "
        f'"10m" (got {{"run":"a","timeout":{got}}})'
    )


def test_the_fake_sandbox_has_no_options():
    assert fake_sandbox() == FakeSandbox()
    assert fake_sandbox().kind == "fake"


@pytest.mark.conforms("72")
@pytest.mark.parametrize(
    ("repo", "expected"),
    [
        ("https://example.com/a.git", {"url": "https://example.com/a.git"}),
        ("http://127.0.0.1:8000/a", {"url": "http://127.0.0.1:8000/a"}),
        ("ssh://git@example.com/a", {"url": "ssh://git@example.com/a"}),
        ("git@example.com:o/r.git", {"url": "git@example.com:o/r.git"}),
        ("example.com:o/r", {"url": "example.com:o/r"}),
        ("git://example.com/a", {"url": "git://example.com/a"}),
        ("file:///srv/a", {"url": "file:///srv/a"}),
        ("github:o/r", {"url": "https://github.com/o/r.git"}),
        ("github:o-1/r.js", {"url": "https://github.com/o-1/r.js.git"}),
        ("github:o/r.git", {"url": "https://github.com/o/r.git"}),
        ("https://github.com/o/r", {"url": "https://github.com/o/r"}),
        ("https://github.com/o/r/tree/main", {"url": "https://github.com/o/r.git", "ref": "main"}),
        ("https://github.com/o/r/tree/main/", {"url": "https://github.com/o/r.git", "ref": "main"}),
        ("https://github.com/o/r/tree/v1/a/b", {"url": "https://github.com/o/r.git", "ref": "v1", "path": "a/b"}),
        ("https://github.com/o/r/tree/v1/a/", {"url": "https://github.com/o/r.git", "ref": "v1", "path": "a"}),
        (
            "https://github.com/o/r/tree/f%2Fx/a%20b",
            {"url": "https://github.com/o/r.git", "ref": "f/x", "path": "a b"},
        ),
        ("/srv/repositories/a", {"url": "/srv/repositories/a"}),
        ("./a", {"url": str(HERE / "a")}),
        ("../a", {"url": str(HERE.parent / "a")}),
        (".", {"url": str(HERE)}),
        ("./a:b", {"url": str(HERE / "a:b")}),
    ],
)
def test_a_repository_is_a_url_a_short_form_or_a_local_path(repo, expected):
    assert git(repo) == GitWorkspace(repo=repo, **expected)


@pytest.mark.conforms("72")
def test_options_win_over_what_a_tree_url_says():
    found = git("https://github.com/o/r/tree/main/a", ref="v2.0.0", path="b")

    assert (found.ref, found.path) == ("v2.0.0", "b")


def test_a_home_directory_is_where_it_is(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")

    assert git("~/a").url == "/somewhere/a"


@pytest.mark.parametrize(("repo", "got"), [("", '""'), (" ", '" "'), (None, "null"), (3, "3"), ("a\0b", '"a\\u0000b"')])
def test_no_repository_is_refused(repo, got):
    assert problem(lambda: git(repo)) == (
        f"git() needs a repository: a URL, github:owner/repo, or a local path (got {got})"
    )


@pytest.mark.parametrize("url", ["ftp://example.com/x", "s3://bucket/x", "://x"])
def test_a_url_that_git_cannot_fetch_is_refused_with_those_it_can(url):
    assert problem(lambda: git(url)) == (
        f'git() cannot fetch {url.partition(":")[0]}:// URLs, only https, http, ssh, git, file (got "{url}")'
    )


@pytest.mark.parametrize(
    "repo", ["github:o", "github:o/r/x", "github:../r", "github:o/..", "github:-o/r", "github:ö/r"]
)
def test_a_short_form_of_another_shape_is_refused(repo):
    assert problem(lambda: git(repo)) == f'git() needs github:owner/repo (got "{repo}")'


def test_a_ref_in_a_url_that_no_repository_can_have_is_refused():
    url = "https://github.com/o/r/tree/a%00b/c"

    assert problem(lambda: git(url)) == f'git() has a ref in its URL that no repository can have (got "{url}")'


@pytest.mark.parametrize(
    "url",
    [
        *("https://[", "https://[::1/x", "https://[zz]/x"),
        *("https:///x", "https://host:99999/x", "https://host:port/x", "https://host:0/x"),
        *("https://a host/x", "https://host/a b"),
    ],
)
def test_a_malformed_url_is_refused(url):
    assert problem(lambda: git(url)) == f'git() has a URL that cannot be understood (got "{url}")'


@pytest.mark.conforms("63")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a", ": '/a' is absolute"),
        ("../a", ": '../a' has the segment '..', which is not a name: it is empty, \".\" or \"..\""),
        ("a/./b", ": 'a/./b' has the segment '.', which is not a name: it is empty, \".\" or \"..\""),
        (".", ': \'.\' is not a name: it is empty, "." or ".."'),
        ("..", ': \'..\' is not a name: it is empty, "." or ".."'),
        ("", ': \'\' is not a name: it is empty, "." or ".."'),
        ("a/", ": 'a/' has the segment '', which is not a name: it is empty, \".\" or \"..\""),
        ("a\\b", ": 'a\\\\b' has a backslash"),
        (3, " (got 3)"),
        ("a\0", ' (got "a\\u0000")'),
    ],
)
def test_a_path_that_is_not_plainly_relative_is_refused(path, reason):
    expected = f"path in git() must be a relative path with forward slashes{reason}"

    assert problem(lambda: git("github:o/r", path=path)) == expected
    assert problem(
        lambda: define_environment("e", {"workspace": {"kind": "git", "repo": "github:o/r", "path": path}})
    ) == (f'workspace in defineEnvironment("e"): {expected}')


def test_a_path_in_a_tree_url_is_checked_like_any_other():
    assert problem(lambda: git("https://github.com/o/r/tree/main/a/%2e%2e/b")).startswith(
        "path in git() must be a relative path with forward slashes: 'a/../b' has the segment '..'"
    )


@pytest.mark.parametrize(("ref", "got"), [("", '""'), (" ", '" "'), (3, "3"), (["main"], '["main"]')])
def test_a_ref_that_is_no_text_is_refused(ref, got):
    assert problem(lambda: git("github:o/r", ref=ref)) == f"ref in git() must be text (got {got})"


@pytest.mark.parametrize(("init", "got"), [("yes", '"yes"'), (1, "1"), (None, "null")])
def test_an_init_that_is_neither_true_nor_false_is_refused(init, got):
    assert problem(lambda: git("github:o/r", init=init)) == f"init in git() must be True or False (got {got})"


@pytest.mark.parametrize("token", ["GIT_TOKEN", "_t", "ghp", "X"])
def test_a_token_is_the_name_of_a_variable(token):
    assert git("https://example.com/a", token=token).token == token
    assert git("github:o/r", token=token).token == token


@pytest.mark.conforms("70", "message: token")
@pytest.mark.parametrize("token", ["", "a b", "1A", "ghp_0123", "GHP_0123", "github_pat_1", "glpat-1", "gho_1", "é", 3])
def test_what_is_not_a_variables_name_is_refused_as_a_token(token):
    assert problem(lambda: git("https://example.com/a", token=token)) == (
        "token in git() must be the NAME of a host variable, not the token itself"
    )


@pytest.mark.conforms("70", "message: token")
@pytest.mark.parametrize(
    "repo", ["git@example.com:o/r", "ssh://git@example.com/a", "./a", "/a", "http://h/a", "file:///a"]
)
def test_a_token_is_for_https_only(repo):
    assert problem(lambda: git(repo, token="T")) == (
        "token in git() is only for https:// URLs; SSH uses your keys, and a local path needs none"
    )


@pytest.mark.conforms("40")
def test_a_host_file_need_not_be_there_when_it_is_named():
    assert file("no/such/file").path == str(HERE / "no/such/file")


@pytest.mark.parametrize(("path", "got"), [("", '""'), (None, "null"), (3, "3"), ("a\0", '"a\\u0000"')])
def test_a_host_file_without_a_path_is_refused(path, got):
    assert problem(lambda: file(path)) == f"file() needs the path of a file (got {got})"


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"kind": "docker"}, docker()),
        ({"kind": "docker", "from": "x:1"}, docker(from_="x:1")),
        ({"kind": "docker", "image": "x:1"}, docker(from_="x:1")),
        (
            {"kind": "docker", "from": "x", "install": ["a", {"run": "b", "timeout": "10m"}]},
            docker(from_="x", install=["a", {"run": "b", "timeout": timedelta(minutes=10)}]),
        ),
        ({"kind": "fake"}, fake_sandbox()),
    ],
)
def test_a_sandbox_may_be_written_as_the_dictionary_it_is(written, made):
    assert define_environment("e", {"sandbox": written}) == define_environment("e", {"sandbox": made})


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"kind": "git", "repo": "github:o/r"}, git("github:o/r")),
        ({"kind": "git", "repo": "github:o/r", "url": "https://github.com/o/r.git"}, git("github:o/r")),
        (
            {"kind": "git", "repo": "../o", "url": "/srv/o"},
            GitWorkspace(repo="../o", url="/srv/o"),
        ),
        (
            {"kind": "git", "repo": "github:o/r", "ref": "v1", "path": "a", "init": True, "token": "T"},
            git("github:o/r", ref="v1", path="a", init=True, token="T"),
        ),
    ],
)
def test_a_workspace_may_be_written_as_the_dictionary_it_is(written, made):
    assert define_environment("e", {"workspace": written}) == define_environment("e", {"workspace": made})


def test_a_host_file_may_be_written_as_the_dictionary_it_is():
    written: Any = {"kind": "file", "path": "./a"}
    made = file("./a")

    assert define_environment("e", {"rules": written, "files": {"x": written}}) == define_environment(
        "e", {"rules": made, "files": {"x": made}}
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"kind": "docker", "from_": "x"}, "docker() has no option from_"),
        ({"kind": "docker", "b": 1, "a": 1}, "docker() has no option a, b"),
        (
            {"kind": "docker", "from": "a", "image": "a"},
            "docker() takes from_ or image, not both: they are two names of one thing",
        ),
        ({"kind": "docker", "from": 3}, "from_ in docker() must name an image (got 3)"),
        ({"kind": "fake", "path": "x"}, "fake_sandbox() has no option path"),
    ],
)
def test_the_dictionary_of_a_sandbox_is_checked_like_the_helper(written, message):
    assert problem(lambda: define_environment("e", {"sandbox": written})) == (
        f'sandbox in defineEnvironment("e"): {message}'
    )


def test_the_dictionary_of_a_workspace_is_checked_like_the_helper():
    written: Any = {"kind": "git", "repo": "github:o/r", "depth": 1}

    assert problem(lambda: define_environment("e", {"workspace": written})) == (
        'workspace in defineEnvironment("e"): git() has no option depth'
    )
