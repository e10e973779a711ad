"""Every mistake in a field, and the words it is refused with: reeval's own where its documentation has them."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from reeval_build import define_environment
from reeval_build.errors import DefinitionError
from reeval_build.model.spec import SetupStep
from tests.support.names import name_of

WHERE = 'defineEnvironment("e")'


def problems(spec) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        define_environment("e", spec)
    return caught.value.problems


@pytest.mark.conforms("9", "message: unknown field")
@pytest.mark.parametrize("field", ["step", "Env", "ENV", "set up", "id", "", "name", "layers", "timeout", "é"])
def test_an_unknown_field_is_refused_without_a_guess(field):
    assert problems({field: 1}) == (f'Unknown field "{field}" in {WHERE}.',)


@pytest.mark.conforms("9", "10", "message: unknown field")
@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("steps", "setup"),
        ("exec", "setup"),
        ("run", "setup"),
        ("vars", "env"),
        ("secrets", "env"),
        ("network", "egress"),
        ("networkPolicy", "egress"),
        ("skill", "skills"),
        ("plugin", "plugins"),
        ("file", "files"),
        ("agents", "rules"),
        ("use", "extend"),
        ("repo", "workspace"),
        ("git", "workspace"),
        ("template", "workspace"),
    ],
)
def test_a_near_miss_is_refused_with_what_was_meant(field, meant):
    assert problems({field: 1}) == (f'Unknown field "{field}" in {WHERE}. Did you mean "{meant}"?',)


@pytest.mark.conforms("11", "12", "message: image field")
@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("image", "node:22", "from"),
        ("image", 3, "image"),
        ("image", None, "image"),
        ("image", {"from": "x"}, "image"),
        ("from", "node:22", "from"),
        ("from_", "node:22", "from"),
        ("dockerfile", "./Dockerfile", "dockerfile"),
        ("install", ["x"], "install"),
    ],
)
def test_an_image_field_beside_sandbox_is_refused_with_where_it_goes(field, value, option):
    assert problems({field: value}) == (
        (
            f'"{field}" isn\'t an environment field ({WHERE}). '
            f"Put the image on the sandbox: sandbox: docker({{ {option}: … }})."
        ),
    )


@pytest.mark.conforms("15", "message: env name")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("1A", '"1A"'),
        ("A-B", '"A-B"'),
        ("", '""'),
        ("é", '"é"'),
        ("A B", '"A B"'),
        ("A=B", '"A=B"'),
        ("A\n", '"A\\n"'),
        (1, "1"),
        (None, "null"),
        (("A",), '["A"]'),
    ],
)
def test_what_is_not_a_variables_name_is_refused(name, shown):
    assert problems({"env": {name: "x"}}) == (
        f'env[{shown}] in {WHERE} is not a variable name: letters, digits and "_", starting with a letter or "_"',
    )


@pytest.mark.conforms("15")
@pytest.mark.parametrize("name", ["_a1", "A", "a", "_", "NODE_ENV"])
def test_letters_digits_and_underscores_make_a_variables_name(name):
    (layer,) = define_environment("e", {"env": {name: "x"}}).layers

    assert dict(layer.spec.env or {}) == {name: "x"}


@pytest.mark.conforms("16", "17", "message: literal secret")
@pytest.mark.parametrize(
    "name",
    ["GITHUB_TOKEN", "API_KEY", "DB_PASSWORD", "X_SECRET", "MY_CREDENTIALS", "api_key", "Token", "KEYBOARD", "MONKEY"],
)
@pytest.mark.parametrize("value", ["hunter2-and-more", ""])
def test_a_literal_under_a_secrets_name_is_refused_and_never_shown(name, value):
    found = problems({"env": {name: value}})

    assert found == (
        (
            f"env.{name} in {WHERE} is a literal string. "
            "Pass secrets with secret.fromEnv() so they're redacted and never recorded."
        ),
    )
    assert "hunter2" not in "".join(found)


@pytest.mark.parametrize("value", [1, None, b"x", ["x"], {"a": 1}, True, "\ud800", "a\0b"])
def test_a_variable_that_is_not_text_is_refused_without_showing_it(value):
    assert problems({"env": {"A": value}}) == (
        f"env.A in {WHERE} must be a string of valid Unicode without NUL, or a secret",
    )


@pytest.mark.parametrize("value", [None, [], ["A=1"], "A=1", 3])
def test_an_env_that_is_no_mapping_is_refused_without_showing_it(value):
    assert problems({"env": value}) == (f"env in {WHERE} must be a mapping of variable names to strings or secrets",)


@pytest.mark.conforms("39", "message: files")
@pytest.mark.parametrize(
    ("content", "got"),
    [
        (1, "1"),
        (None, "null"),
        (True, "true"),
        (b"x", '"<bytes>"'),
        (["x"], '["x"]'),
        ({}, "{}"),
        ({"kind": "file"}, '{"kind":"file"}'),
        ({"kind": "file", "path": 3}, '{"kind":"file","path":3}'),
        ({"kind": "file", "path": "a", "mode": 1}, '{"kind":"file","path":"a","mode":1}'),
        ({"kind": "dir", "path": "a"}, '{"kind":"dir","path":"a"}'),
    ],
)
def test_a_file_that_is_neither_text_nor_a_host_file_is_refused(content, got):
    assert problems({"files": {"a.txt": content}}) == (
        f'files["a.txt"] in {WHERE} must be a string or file(path) (got {got})',
    )


@pytest.mark.conforms("37")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/x", "is absolute"),
        ("../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("a/../b", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("~/../x", 'has the segment \'..\', which is not a name: it is empty, "." or ".."'),
        ("a\\b", "has a backslash; use forward slashes"),
        ("", 'is not a name: it is empty, "." or ".."'),
        ("~", 'starts with "~" but not with "~/"'),
        ("a/", 'has the segment \'\', which is not a name: it is empty, "." or ".."'),
    ],
)
def test_a_destination_outside_is_refused_with_the_reason(path, reason):
    assert problems({"files": {path: "x"}}) == (f'files["{path}"] in {WHERE} {reason}',)


@pytest.mark.parametrize(("path", "got"), [(1, "1"), (None, "null"), (b"a", '"<bytes>"'), (("a", "b"), '["a","b"]')])
def test_a_destination_that_is_not_text_is_refused(path, got):
    assert problems({"files": {path: "x"}}) == (f"files in {WHERE} must have text as paths (got {got})",)


@pytest.mark.parametrize(("value", "got"), [(None, "null"), ([], "[]"), ("x", '"x"'), (3, "3")])
def test_files_that_are_no_mapping_are_refused(value, got):
    assert problems({"files": value}) == (
        f"files in {WHERE} must be a mapping of paths to strings or file(path) (got {got})",
    )


@pytest.mark.conforms("message: file and directory")
@pytest.mark.parametrize(("above", "below"), [("a", "a/b"), ("a", "a/b/c"), ("a/b", "a/b/c"), ("~/a", "~/a/b")])
def test_a_path_that_would_be_a_file_and_a_directory_is_refused_with_both(above, below):
    expected = (
        (
            f'files["{above}"] and files["{below}"] in {WHERE} cannot both be there: '
            f'"{above}" would be a file and a directory'
        ),
    )

    assert problems({"files": {above: "", below: ""}}) == expected
    assert problems({"files": {below: "", above: ""}}) == expected


def test_a_name_that_another_begins_with_is_not_a_directory_of_it():
    (layer,) = define_environment("e", {"files": {"a": "", "a.b": "", "ab/c": "", "~/a/b": ""}}).layers

    assert len(layer.spec.files or {}) == 4


@pytest.mark.parametrize("path", [".git", ".git/config", ".git/hooks/pre-commit"])
def test_a_file_inside_the_git_directory_that_init_makes_is_refused(path):
    workspace = {"kind": "git", "repo": "github:o/r", "init": True}

    assert problems({"workspace": workspace, "files": {path: ""}}) == (
        f'files["{path}"] in {WHERE} is inside the .git directory that init makes',
    )


@pytest.mark.parametrize("files", [{".gitignore": ""}, {"a/.git": ""}, {"~/.git/x": ""}])
def test_a_file_beside_the_git_directory_is_accepted(files):
    define_environment("e", {"workspace": {"kind": "git", "repo": "github:o/r", "init": True}, "files": files})


@pytest.mark.conforms("57", "message: rules")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        (3, "3"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (b"# r", '"<bytes>"'),
        (["# r"], '["# r"]'),
        ({"kind": "file"}, '{"kind":"file"}'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_rules_that_are_neither_markdown_nor_a_host_file_are_refused(value, got):
    assert problems({"rules": value}) == (f"rules in {WHERE} must be markdown or file(path) (got {got})",)


@pytest.mark.conforms("84", "message: setup list")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("npm ci", '"npm ci"'),
        (b"npm ci", '"<bytes>"'),
        (None, "null"),
        ({"run": "npm ci"}, '{"run":"npm ci"}'),
        (3, "3"),
        ({"a"}, '"<set>"'),
    ],
)
def test_a_setup_that_is_no_list_is_refused(value, got):
    assert problems({"setup": value}) == (f"setup in {WHERE} must be a list (got {got})",)


@pytest.mark.conforms("84", "message: setup step")
@pytest.mark.parametrize(
    ("step", "got"),
    [
        (3, "3"),
        (None, "null"),
        ("", '""'),
        (" \n", '" \\n"'),
        ("a\0b", '"a\\u0000b"'),
        ("\ud800", '"\\ud800"'),
        ([], "[]"),
        ({}, "{}"),
        ({"cwd": "."}, '{"cwd":"."}'),
        ({"run": 3}, '{"run":3}'),
        ({"run": ""}, '{"run":""}'),
        ({"run": ["npm", "ci"]}, '{"run":["npm","ci"]}'),
        ({"command": "npx"}, '{"command":"npx"}'),
    ],
)
def test_a_step_that_is_no_command_is_refused_by_its_place(step, got):
    assert problems({"setup": ["true", step]}) == (
        f"setup[1] in {WHERE} must be a command string or {{ run, timeout?, cwd? }} (got {got})",
    )


@pytest.mark.conforms("84", "message: setup key")
@pytest.mark.parametrize("key", ["env", "inputs", "timeout_s", "Run", ""])
def test_a_step_with_an_unknown_key_is_refused_by_its_command(key):
    assert problems({"setup": [{"run": "npm ci", key: {}}]}) == (
        f'setup step "npm ci" in {WHERE} has an unknown key "{key}"; a step is a string or {{ run, timeout?, cwd? }}.',
    )


def test_a_command_is_quoted_in_a_message_as_json_quotes_it():
    (problem,) = problems({"setup": [{"run": 'say "é"\n', "env": {}}]})

    assert problem.startswith(f'setup step "say \\"é\\"\\n" in {WHERE} has an unknown key "env"')


@pytest.mark.parametrize(
    ("timeout", "got"),
    [
        (0, "0"),
        (-5, "-5"),
        (True, "true"),
        (None, "null"),
        ("5", '"5"'),
        ("5 m", '"5 m"'),
        ("5d", '"5d"'),
        ("-5m", '"-5m"'),
        ("0s", '"0s"'),
        ("\u0665m", '"\u0665m"'),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        ("1" * 400 + "s", f'"{"1" * 199}…'),
        (timedelta(0), '"<timedelta>"'),
    ],
)
def test_a_time_limit_that_is_none_is_refused(timeout, got):
    assert problems({"setup": [{"run": "a", "timeout": timeout}]}) == (
        f'setup step "a" in {WHERE} has a bad timeout; use seconds or text such as "5m" (got {got})',
    )


def test_a_time_limit_beyond_any_number_of_seconds_is_refused():
    (problem,) = problems({"setup": [{"run": "a", "timeout": 10**400}]})

    assert problem.startswith(f'setup step "a" in {WHERE} has a bad timeout')


@pytest.mark.parametrize(
    ("cwd", "got"), [("", '""'), (None, "null"), (3, "3"), ("a\0", '"a\\u0000"'), (["a"], '["a"]')]
)
def test_a_working_directory_that_is_no_path_is_refused(cwd, got):
    assert problems({"setup": [{"run": "a", "cwd": cwd}]}) == (
        (
            f'setup step "a" in {WHERE} has a bad cwd; '
            f"it is a directory, relative to the workspace or absolute (got {got})"
        ),
    )


@pytest.mark.conforms("83")
@pytest.mark.parametrize("cwd", [".", "packages/app", "/srv", "..", "../x", "a//b/", "a b"])
def test_a_working_directory_is_relative_to_the_workspace_or_absolute(cwd):
    (layer,) = define_environment("e", {"setup": [{"run": "a", "cwd": cwd}]}).layers

    assert layer.spec.setup == (SetupStep(run="a", cwd=cwd),)


@pytest.mark.conforms("73", "message: workspace")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("https://github.com/acme/app", '"https://github.com/acme/app"'),
        ("./app", '"./app"'),
        (None, "null"),
        (3, "3"),
        ({"repo": "github:o/r"}, '{"repo":"github:o/r"}'),
        ({"kind": "git"}, '{"kind":"git"}'),
        ({"kind": "hg", "repo": "x"}, '{"kind":"hg","repo":"x"}'),
        (["github:o/r"], '["github:o/r"]'),
    ],
)
def test_a_workspace_that_is_not_from_git_is_refused(value, got):
    assert problems({"workspace": value}) == (
        (
            f"workspace in {WHERE} must come from the git helper, "
            f"e.g. workspace: git('https://github.com/acme/app', {{ ref: 'v1.0.0' }}) (got {got})"
        ),
    )


@pytest.mark.parametrize(
    ("value", "got"),
    [("node:22", '"node:22"'), (None, "null"), ({}, "{}"), ({"kind": "vm"}, '{"kind":"vm"}'), ([], "[]")],
)
def test_a_sandbox_that_is_not_from_a_helper_is_refused(value, got):
    assert problems({"sandbox": value}) == (
        (
            f"sandbox in {WHERE} must come from a sandbox helper, "
            f"e.g. sandbox: docker({{ from: 'node:24-bookworm' }}) (got {got})"
        ),
    )


@pytest.mark.conforms("message: order")
def test_every_mistake_is_reported_at_once_in_a_fixed_order():
    spec = {
        "setup": [3, {"run": "a", "env": {}}],
        "rules": 3,
        "zzz": 1,
        "files": {"../x": 1},
        "env": {"A_TOKEN": "x", "1": "x"},
        "install": [],
        "steps": [],
        "workspace": "x",
        "sandbox": "x",
        "image": "node:22",
    }

    found = problems(spec)

    assert [problem.split(" ")[0] for problem in found] == [
        '"install"',
        '"image"',
        "Unknown",
        "Unknown",
        "env.A_TOKEN",
        'env["1"]',
        'files["../x"]',
        'files["../x"]',
        "rules",
        "sandbox",
        "setup[0]",
        "setup",
        "workspace",
    ]
    assert [problem.split(" ")[2] for problem in found[2:4]] == ['"zzz"', '"steps"']


@pytest.mark.parametrize("returned", [None, 3, "x", [], [("rules", "x")], {"rules"}, object()], ids=name_of)
def test_a_spec_that_is_no_mapping_is_refused_whether_given_or_returned(returned):
    for spec in (returned, lambda _helpers: returned):
        (problem,) = problems(spec)
        assert problem.startswith(f"{WHERE} needs a mapping of fields, or a callback that returns one (got ")


@pytest.mark.parametrize("make", [dict, OrderedDict, MappingProxyType])
def test_any_mapping_is_a_spec(make):
    (layer,) = define_environment("e", make({"rules": "x", "env": make({"A": "1"})})).layers

    assert (layer.spec.rules, dict(layer.spec.env or {})) == ("x", {"A": "1"})


def test_a_tuple_is_a_list_of_steps():
    assert define_environment("e", {"setup": ("a", "b")}) == define_environment("e", {"setup": ["a", "b"]})


def test_mistakes_of_an_extension_name_the_extension():
    bad: Any = {"rules": 3}
    with pytest.raises(DefinitionError) as caught:
        define_environment("parent", {}).extend("child", bad)

    assert caught.value.problems == ('rules in defineEnvironment("child") must be markdown or file(path) (got 3)',)
