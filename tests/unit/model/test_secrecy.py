"""What must never be in a message: the mistake is shown, the secret beside it is not."""

from __future__ import annotations

from typing import Any

import pytest

from reeval_build import define_environment, git
from reeval_build.errors import DefinitionError
from reeval_build.model.shown import got
from tests.support.names import name_of

SECRET = "hunter2-f00d"


def refusal(make) -> str:
    with pytest.raises(DefinitionError) as caught:
        make()
    return str(caught.value)


@pytest.mark.conforms("17")
@pytest.mark.parametrize(
    "spec",
    [
        {"env": {"API_TOKEN": SECRET}},
        {"env": {"API_TOKEN": SECRET, "1": "x"}, "rules": 3, "steps": []},
        {"env": {"API_TOKEN": {"value": SECRET}}},
        {"env": {"API_TOKEN": [SECRET]}},
        {"env": [f"API_TOKEN={SECRET}"]},
        {"env": f"API_TOKEN={SECRET}"},
        {"setup": [{"run": 3, "env": {"API_TOKEN": SECRET}}]},
        {"setup": [{"run": "a", "env": {"API_TOKEN": SECRET}}]},
        {"sandbox": {"kind": "vm", "env": {"API_TOKEN": SECRET}}},
        {"sandbox": {"kind": "docker", "env": {"API_TOKEN": SECRET}}},
        {"files": {"a": {"token": SECRET}}},
        {"rules": {"password": SECRET}},
        {"vars": {"API_TOKEN": SECRET}},
        [{"env": {"API_TOKEN": SECRET}}],
    ],
    ids=str,
)
def test_a_literal_secret_is_not_in_the_message(spec):
    assert SECRET not in refusal(lambda: define_environment("e", spec))


@pytest.mark.conforms("69")
@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{SECRET}@example.com/x",
        f"https://{SECRET}@example.com/x",
        f"https://:{SECRET}@example.com/x",
        f"HTTPS://user:{SECRET}@example.com/x",
        f"http://user:{SECRET}@example.com/x",
        f"ssh://git:{SECRET}@example.com/x",
        f"git://user:{SECRET}@example.com/x",
        f"git+https://{SECRET}@example.com/x",
        f"ftp://user:{SECRET}@example.com/x",
        f"https://user:{SECRET}@[example.com/x",
        f"https://user:{SECRET}@ex\u2100mple.com/x",
        f"https://user:{SECRET}@github.com/o/r/tree/main/a",
    ],
)
def test_a_url_with_credentials_is_refused_and_they_are_not_in_the_message(url):
    other: Any = {"workspace": {"kind": "hg", "url": url}}
    assert SECRET not in refusal(lambda: git(url))
    assert SECRET not in refusal(lambda: define_environment("e", {"workspace": url}))
    assert SECRET not in refusal(lambda: define_environment("e", {"workspace": {"kind": "git", "repo": url}}))
    assert SECRET not in refusal(lambda: define_environment("e", other))


@pytest.mark.conforms("69", "message: password in URL")
@pytest.mark.parametrize("url", [f"https://user:{SECRET}@example.com/x", f"git+https://{SECRET}@example.com/x"])
def test_the_message_says_how_to_pass_a_token(url):
    assert refusal(lambda: git(url)) == (
        "git() has a password or token in its URL; pass the NAME of a host variable as token= instead"
    )


@pytest.mark.conforms("70")
@pytest.mark.parametrize("token", [f"ghp_{SECRET}", SECRET, f"github_pat_{SECRET}".replace("-", ""), f"a {SECRET}"])
def test_a_token_that_is_given_instead_of_its_name_is_not_in_the_message(token):
    workspace: Any = {"kind": "git", "repo": "https://example.com/x", "token": token}

    without: Any = {"workspace": {"kind": "git", "token": token}}
    assert token not in refusal(lambda: git("https://example.com/x", token=token))
    assert token not in refusal(lambda: define_environment("e", {"workspace": workspace}))
    assert token not in refusal(lambda: define_environment("e", without))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("npm ci", '(got "npm ci")'),
        (3, "(got 3)"),
        ({"command": "npx"}, '(got {"command":"npx"})'),
        ("é\n\t", '(got "é\\n\\t")'),
        ([1.5, None, True, ()], "(got [1.5,null,true,[]])"),
        ({1: 2, None: 3}, '(got {"1":2,"None":3})'),
        ("a" * 300, f'(got "{"a" * 199}…)'),
        (f"https://u:{SECRET}@h/a@b", '(got "https://…@h/a@b")'),
        (f"see https://{SECRET}@h and http://{SECRET}@i", '(got "see https://…@h and http://…@i")'),
        ("git@github.com:o/r", '(got "git@github.com:o/r")'),
        ("https://h/a@b", '(got "https://h/a@b")'),
        ({"ApiKey": SECRET, "a": {"db_password": 1}}, '(got {"ApiKey":"…","a":{"db_password":"…"}})'),
        (10**5000, '(got "<int>")'),
        (object(), '(got "<object>")'),
    ],
    ids=lambda value: name_of(value)[:30] if not isinstance(value, int) else "int",
)
def test_a_value_is_shown_as_compact_json_without_what_may_be_secret(value, shown):
    assert got(value) == shown


def test_a_value_that_is_inside_itself_is_shown_by_its_type():
    value: list[object] = []
    value += [value, value]

    assert got(value) == '(got "<list>")'
    assert got({"a": value}) == '(got "<dict>")'
