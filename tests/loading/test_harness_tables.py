"""How a project's pyproject.toml says that programs of harnesses are installed, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build.loading.project_file import ProjectFileError, project_settings
from reeval_build.model.harness_recipes import INSTALL_TIMEOUT_S, HarnessRecipe

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "tool.reeval-build.harness"
CODEX = f"{TABLE}.codex"
GOOSE = f"{TABLE}.goose"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"[{CODEX}]",
            HarnessRecipe(kind="codex", package="@openai/codex", version="latest", smoke="codex --version"),
        ),
        (
            f"[{CODEX}]\nversion = '1.2.3'\nsmoke = 'codex --help'\ntimeout = '1h'",
            HarnessRecipe(
                kind="codex", package="@openai/codex", version="1.2.3", smoke="codex --help", timeout_s=3600.0
            ),
        ),
        (
            f"[{CODEX}]\ninstall = 'make codex'",
            HarnessRecipe(kind="codex", install=("make codex",), smoke="codex --version"),
        ),
        (
            f"[{GOOSE}]\ninstall = ['a', 'b']\nsmoke = 'goose --version'\nversion = 'v1.2'",
            HarnessRecipe(kind="goose", version="v1.2", install=("a", "b"), smoke="goose --version"),
        ),
    ],
)
def test_a_table_is_a_recipe(tmp_path: Path, text: str, expected: HarnessRecipe) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    found = project_settings(tmp_path).harnesses

    assert found == {expected.kind: expected}
    assert found[expected.kind].timeout_s == (3600.0 if "timeout" in text else INSTALL_TIMEOUT_S)


def test_every_kind_can_be_installed_by_commands_and_four_without(tmp_path: Path) -> None:
    by_itself = ["claude-code", "codex", "opencode", "pi"]
    by_commands = ["cursor", "antigravity", "goose", "fx", "grok-build"]
    tables = [f"[{TABLE}.{kind}]" for kind in by_itself]
    tables += [f"[{TABLE}.{kind}]\ninstall = 'i'\nsmoke = 's'" for kind in by_commands]
    (tmp_path / "pyproject.toml").write_text("\n".join(tables))

    found = project_settings(tmp_path).harnesses

    assert [kind for kind, recipe in found.items() if recipe.package] == by_itself
    assert [kind for kind, recipe in found.items() if recipe.install] == by_commands


def test_without_a_table_nothing_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.reeval-build]\n")

    assert project_settings(tmp_path).harnesses == {}


ONE_OR_TAG = 'which is not one version such as "1.2.3", or a tag such as "latest"'
WRONG = {
    "harness = 3": f"{TABLE} is not a table",
    "harness.codex = 'latest'": f"{CODEX} is not a table",
    "[harness.claude]": f'[{TABLE}] has an unknown harness "claude" (did you mean "claude-code"?)',
    "[harness.emacs]": f'[{TABLE}] has an unknown harness "emacs" (known are claude-code, codex, cursor, antigravity, '
    "opencode, goose, pi, fx and grok-build)",
    "[harness.fake]": f"[{TABLE}.fake] is of a harness that has no program to install",
    "[harness.codex]\nverson = '1.2.3'": f'[{CODEX}] has an unknown key "verson" (did you mean "version"?)',
    "[harness.codex]\nimage = 'x'": f'[{CODEX}] has an unknown key "image" (known are version, install, smoke and '
    "timeout)",
    "[harness.codex]\nversion = 1": f"version of [{CODEX}] is 1, {ONE_OR_TAG}",
    "[harness.codex]\nversion = '^1.2'": f"version of [{CODEX}] is '^1.2', {ONE_OR_TAG}",
    "[harness.codex]\nversion = '1.2'": f"version of [{CODEX}] is '1.2', {ONE_OR_TAG}",
    "[harness.codex]\nversion = '1.2.3; id'": f"version of [{CODEX}] is '1.2.3; id', {ONE_OR_TAG}",
    "[harness.codex]\nversion = '^1'\ninstall = 'i'": f"version of [{CODEX}] is '^1', which is not a version such as",
    "[harness.codex]\ninstall = 3": f"install of [{CODEX}] is 3, which is not a command or a list of commands",
    "[harness.codex]\ninstall = []": f"install of [{CODEX}] is [], which is not a command or a list of commands",
    "[harness.codex]\ninstall = ['a', ' ']": f"install of [{CODEX}] is ['a', ' '], which is not a command or a list",
    '[harness.codex]\ninstall = "a\\u0000"': f"install of [{CODEX}] is 'a\\x00', which is not a command or a list",
    "[harness.codex]\nsmoke = ['a']": f"smoke of [{CODEX}] is ['a'], which is not a command",
    "[harness.codex]\nsmoke = ''": f"smoke of [{CODEX}] is '', which is not a command",
    "[harness.codex]\ntimeout = 'soon'": f"timeout of [{CODEX}] is 'soon', which is not a time limit: seconds, or text "
    'such as "10m"',
    "[harness.codex]\ntimeout = 0": f"timeout of [{CODEX}] is 0, which is not a time limit",
    "[harness.goose]": f"[{GOOSE}] needs install: how that harness is installed is not known here (write the command, "
    "or a list of them)",
    "[harness.goose]\ninstall = 'i'": f"[{GOOSE}] needs smoke: a command that fails when the program does not work",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text.replace("\n", " "))
def test_what_is_wrong_is_said_with_the_path_and_the_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pyproject.toml"
    whole = text.replace("[harness", "[tool.reeval-build.harness")
    path.write_text(whole if whole.startswith("[") else f"[tool.reeval-build]\n{text}")

    with pytest.raises(ProjectFileError) as caught:
        project_settings(tmp_path)

    assert str(caught.value).startswith(f"{path}: {WRONG[text]}")
