"""Eval files that import reeval_python: which cells they give, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build.model.harnesses import HARNESSES
from tests.loading import test_wire_examples as examples
from tests.support.evals import FILE, PYTHON, write_evals

if TYPE_CHECKING:
    from tests.support.cli import Built, ReevalBuild
    from tests.support.projects import Project

ARROW = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
NOT_YET = "is not supported by this version of reeval-build yet"
TWO_OF_A_KIND = """
base = define_environment("base", {"sandbox": {"kind": "fake"}, "rules": "r"})
harness = [{"kind": "codex", "model": "gpt"}, {"kind": "codex", "model": "gpt", "effort": "high"}]
once = base.extend("once", {"files": {"a": "a"}})

@evaluate("x", {"environment": base, "harness": harness})
def x(c): ...

@evaluate("y", {"environment": once, "harness": harness[0]})
def y(c): ...
"""


@pytest.fixture
def evals(reeval: ReevalBuild) -> ReevalBuild:
    """The command, with the Python that has reeval_python."""
    reeval.env.update(PYTHON)
    return reeval


def names(built: Built) -> list[str]:
    return [cell["name"] for cell in built.value["cells"]]


def refused(evals: ReevalBuild, *targets: str) -> list[str]:
    """What is said of targets that are refused, without the name of the eval file."""
    done = evals.build(*targets, code=2)
    assert done.stdout == ""
    return [message.removeprefix("reeval: ").removeprefix(f"{FILE}: ") for message in done.messages]


def test_what_evals_declare_is_built_on_the_harness_they_declare(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        base = define_environment("base", {"sandbox": {"kind": "fake"}, "setup": ["echo $GREETING > said"]})
        more = base.extend("more", {"rules": "Be good."})

        @evaluate("x", {"environment": base, "harness": fake_harness(), "env": {"GREETING": "hello"}})
        def x(c): ...

        @evaluate("y", {"environment": more, "harness": {"kind": "claude-code", "model": "m"}})
        def y(c): ...
        """,
    )

    built = evals.build(FILE)
    said = evals("run", f"{FILE}::base@fake", "--", "cat", "said").stdout
    rules = evals("run", f"{FILE}::more@claude-code:m", "--", "cat", "CLAUDE.md").stdout

    assert names(built) == ["base@fake", "more@claude-code:m"]
    assert [cell["harness"] for cell in built.value["cells"]] == ["fake", "claude-code"]
    assert said.startswith("hello\n")
    assert rules.startswith("Be good.")
    assert evals.build(FILE).ran == []


@pytest.mark.conforms("20", "125")
def test_a_secret_that_an_eval_declares_is_filled_in(project: Project, evals: ReevalBuild) -> None:
    write_evals(project, examples.THREE.replace('"rules": "be nice"', '"setup": ["echo ${KEY_NAME:-none} > seen"]'))
    command = (f"{FILE}::e@fake", "--sandbox", "fake", "--", "sh", "-c", "cat seen; echo ${KEY_NAME:-none}")

    without = evals("run", *command).stdout
    evals.env["OPENAI_API_KEY"] = "hunter2"
    with_it = evals("run", *command)

    assert without.startswith("none\nnone\n")
    assert with_it.stdout.startswith("[secret KEY_NAME]\nnone\n")
    assert "leaves the value of env.KEY_NAME in workspace/seen" in with_it.stderr


def test_the_harness_option_decides_where_nothing_declares_one(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        @evaluate("x", {"environment": define_environment("free", {"sandbox": {"kind": "fake"}})})
        def x(c): ...

        own = define_environment("own", {"sandbox": {"kind": "fake"}})

        @evaluate("y", {"environment": own, "harness": "pi"})
        def y(c): ...
        """,
    )

    built = evals.build(FILE, "--harness", "codex", "--harness", "fake")

    assert names(built) == ["free@codex", "free@fake", "own@pi"]


def test_two_harnesses_of_a_kind_are_cells_by_their_ids_that_share_every_node(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(project, TWO_OF_A_KIND)

    built = evals.build(FILE)

    assert names(built) == ["base@codex:gpt", "base@codex:gpt[effort=high]", "once@codex:gpt"]
    assert len({cell["key"] for cell in built.value["cells"]}) == 3
    snapshots = built.snapshots
    assert snapshots["base@codex:gpt"] == snapshots["base@codex:gpt[effort=high]"] != snapshots["once@codex:gpt"]
    assert built.phases("ran").count("snapshot") == 2


def test_a_cell_is_found_by_the_id_of_its_harness_or_by_a_kind_that_only_one_is_of(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(project, TWO_OF_A_KIND)

    by_id = evals("run", "base@codex:gpt[effort=high]", "--", "true").stdout
    by_kind = evals("run", f"{FILE}::once@codex", "--", "true").stdout
    neither = evals("run", "base@codex", "--", "true", code=2).messages
    unknown = evals("run", "base@codex:other", "--", "true", code=2).messages

    assert by_id.startswith("base@codex:gpt[effort=high]: nothing changed")
    assert by_kind.startswith("once@codex:gpt: nothing changed")
    cells = "base@codex:gpt, base@codex:gpt[effort=high]"
    assert neither == [f'reeval: "base@codex" is one of {cells}: say which']
    assert unknown == [f'reeval: there is no cell "base@codex:other" here; there are {cells}']


def test_an_eval_without_an_environment_has_an_empty_one_that_is_called_a_dash(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(project, '@evaluate("x", {"sandbox": {"kind": "fake"}, "env": {"A": "1"}})\ndef x(c): ...')

    built = evals.build(FILE)
    ran = evals("run", f"{FILE}::-@fake", "--", "ls", "-A").stdout

    assert names(built) == ["-@fake"]
    assert built.phases("ran") == ["base", "root", "snapshot"]
    assert ran == "-@fake: nothing changed since the snapshot\n"


@pytest.mark.conforms("82")
def test_env_is_merged_over_the_environment_and_a_sandbox_is_only_the_default(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(
        project,
        """
        plain = define_environment("plain", {"env": {"A": "own", "B": "own"}, "setup": ["echo $A $B $C > said"]})
        boxed = plain.extend("boxed", {"sandbox": {"kind": "fake"}})

        def inner():
            @evaluate("x", {"environment": plain, "env": {"C": "eval"}})
            def x(c): ...

            @evaluate("y", {"environment": boxed, "sandbox": docker(from_="no-such-image:1", memory="4g")})
            def y(c): ...

        group("g", {"sandbox": {"kind": "fake"}, "env": {"B": "group", "C": "group"}}, inner)
        """,
    )

    evals.build(FILE, "--sandbox", "docker")

    assert evals("run", "plain@fake", "--", "cat", "said").stdout.startswith("own group eval\n")
    assert evals("run", "boxed@fake", "--", "cat", "said").stdout.startswith("own group group\n")


@pytest.mark.conforms("126")
def test_groups_baselines_and_variants_are_cells_and_a_baseline_is_not_under_its_variants(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(
        project,
        """
        base = define_environment("base", {"sandbox": {"kind": "fake"}, "files": {"a": "a"}})
        other = define_environment("other", {"sandbox": {"kind": "fake"}, "files": {"b": "b"}})

        def inner():
            @evaluate("x", {"compare": {"baseline": base, "variants": [other]}})
            def x(c): ...

        group("g", {}, inner)
        """,
    )

    assert names(evals.build(FILE)) == ["base@fake", "other@fake"]
    assert "b\n" in (listed := evals("run", "other@fake", "--", "ls").stdout)
    assert "a\n" not in listed


def test_relative_paths_count_from_the_eval_file(project: Project, evals: ReevalBuild) -> None:
    project.write("evals/rules.md", "Rules beside the file.\n")
    project.repository("evals/app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    write_evals(
        project,
        """
        base = define_environment("base", {
            "sandbox": {"kind": "fake"},
            "rules": {"kind": "file", "path": "./rules.md"},
            "workspace": {"kind": "git", "repo": "./app", "ref": "v1.0.0"},
        })

        @evaluate("x", {"environment": base})
        def x(c): ...
        """,
    )

    shown = evals("run", "base@fake", "--", "cat", "AGENTS.md", "main.txt").stdout

    assert shown.startswith("Rules beside the file.\nmain\n")


def test_a_directory_is_its_eval_files_and_our_modules(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        '@evaluate("x", {"environment": define_environment("a", {"sandbox": {"kind": "fake"}})})\ndef x(c): ...',
    )
    ours = 'b = define_environment("b", {"sandbox": fake_sandbox()})'
    project.define(ours, path="evals/b.eval.py")
    project.define(ours.replace('"b"', '"c"'), path="evals/c.py")
    project.write("evals/shared.py", "import reeval_python\nraise SystemExit('not an eval file')\n")

    assert names(evals.build("evals")) == ["b@fake", "c@fake", "a@fake"]
    assert names(evals.build(f"{FILE}::a")) == ["a@fake"]
    assert refused(evals, f"{FILE}::b") == ['there is no environment "b"; it has a']


def test_environments_of_one_name_that_differ_between_files_are_refused(project: Project, evals: ReevalBuild) -> None:
    text = '@evaluate("x", {{"environment": define_environment("a", {{"rules": "{}"}})}})\ndef x(c): ...'
    write_evals(project, text.format(1))
    write_evals(project, text.format(2), path="evals/y.eval.py")

    assert refused(evals) == [f'evals/y.eval.py: environment "a" is also defined, differently, in {FILE}']


SEVERAL_OF_ONE_NAME = """
e = define_environment("e", {"sandbox": {"kind": "fake"}, "setup": ["echo $A > said"]})
codex = [{"kind": "codex", "model": "gpt"}, {"kind": "goose", "model": "gpt"}]

@evaluate("says nothing", {"environment": e})
def nothing(c): ...

def inner():
    @evaluate("says one", {"environment": e})
    def one(c): ...

    @evaluate("says one, too", {"environment": e, "egress": "proxy"})
    def one_too(c): ...

    @evaluate("says two :: \\n of them", {"environment": e, "env": {"A": "two"}, "harness": {"add": codex}})
    def two(c): ...

group("g", {"env": {"A": "one"}, "harness": fake_harness()}, inner)

@evaluate_each([1, 2], "case %s says three", {"environment": e, "env": {"A": "three"}})
def three(c, case): ...

@evaluate("plain", {"environment": e.extend("plain", {}), "env": {"A": "plain"}})
def plain(c): ...
"""
NAMES_OF_SEVERAL = [
    "e@fake#says nothing",
    f"e@fake#g {ARROW} says one",
    f"e@fake#g {ARROW} says two :\\x3a \\n of them",
    "e@fake#case 1 says three",
    "e@codex:gpt",
    "e@goose:gpt",
    "plain@fake",
]


def test_evals_that_make_several_cells_of_an_environment_are_in_their_names(
    project: Project, evals: ReevalBuild
) -> None:
    write_evals(project, SEVERAL_OF_ONE_NAME)

    built = evals.build(FILE)
    drawn = evals("graph", FILE).stdout

    assert names(built) == NAMES_OF_SEVERAL
    assert len({cell["key"] for cell in built.value["cells"]}) == len(NAMES_OF_SEVERAL)
    assert [line for line in drawn.splitlines() if "@" in line] == NAMES_OF_SEVERAL
    assert evals.build(FILE).ran == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("e@fake#says nothing", ""),
        (f"{FILE}::e@fake#g {ARROW} says one", "one"),
        (f"{FILE}::{NAMES_OF_SEVERAL[2]}", "two"),
        (f"e@fake#g {ARROW} says one, too", "one"),
        ("e@fake#case 1 says three", "three"),
        ("e@fake#case 2 says three", "three"),
        ("e@codex:gpt", "two"),
        (f"e@goose#g {ARROW} says two :\\x3a \\n of them", "two"),
        ("plain@fake#plain", "plain"),
    ],
)
def test_such_a_cell_is_found_by_any_eval_that_declares_it(
    project: Project, evals: ReevalBuild, cell: str, said: str
) -> None:
    write_evals(project, SEVERAL_OF_ONE_NAME)

    assert evals("run", cell, "--", "cat", "said").stdout.startswith(f"{said}\n")


def test_without_the_eval_or_with_another_the_cells_there_are_are_listed(project: Project, evals: ReevalBuild) -> None:
    write_evals(project, SEVERAL_OF_ONE_NAME)
    listed = ", ".join(NAMES_OF_SEVERAL[:4])

    assert evals("run", "e@fake", "--", "true", code=2).messages == [f'reeval: "e@fake" is one of {listed}: say which']
    assert evals("run", "e@fake#plain", "--", "true", code=2).messages == [
        f'reeval: there is no cell "e@fake#plain" here; there are {listed}, e@codex:gpt, e@goose:gpt'
    ]


def test_cells_that_are_too_many_for_a_line_are_counted(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        e = define_environment("e", {"sandbox": {"kind": "fake"}, "setup": ["exit 1"]})

        @evaluate("x", {"environment": e, "harness": [{"kind": "fake", "id": f"h{at}"} for at in range(12)]})
        def x(c): ...
        """,
    )

    built = evals.build(FILE, code=3)

    first = ", ".join(f"e@h{at}" for at in range(10))
    assert f"setup     exit 1  [{first} and 2 more]" in built.stderr
    assert built.messages[0].startswith(f"reeval: {FILE}: {first} and 2 more: setup step")
    assert len(names(built)) == 12


def test_evals_of_one_name_in_two_files_are_told_apart_by_their_files(project: Project, evals: ReevalBuild) -> None:
    text = """
    @evaluate("x", {{"environment": define_environment("e", {{"sandbox": {{"kind": "fake"}}}}), "env": {{"A": "{}"}}}})
    def x(c): ...
    """
    write_evals(project, text.format("1"), path="evals/a.eval.py")
    write_evals(project, text.format("2"), path="evals/b.eval.py")
    project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')

    assert names(evals.build()) == ["e@fake", "e@fake#evals/a.eval.py: x", "e@fake#evals/b.eval.py: x"]
    assert names(evals.build("evals/a.eval.py")) == ["e@fake"]
    assert evals("run", "evals/b.eval.py::e@fake#x", "--", "sh", "-c", "echo $A").stdout.startswith("2\n")


def test_harnesses_of_one_id_and_different_places_are_numbered(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        e = define_environment("e", {"sandbox": {"kind": "fake"}, "rules": "r"})

        @evaluate("x", {"environment": e, "harness": [fake_harness(), fake_harness(layout="claude-code")]})
        def x(c): ...
        """,
    )

    assert names(evals.build(FILE)) == ["e@fake#x", "e@fake#x (2)"]
    assert "CLAUDE.md\n" in evals("run", "e@fake#x (2)", "--", "ls").stdout


@pytest.mark.conforms("100")
@pytest.mark.parametrize(("layout", "place"), [("claude-code", ".claude/skills"), ("pi", "~/.pi/agent/skills")])
def test_a_fake_harness_with_a_layout_reads_skills_where_that_kind_does(
    project: Project, evals: ReevalBuild, layout: str, place: str
) -> None:
    write_evals(
        project,
        f"""
        inline = {{
            "kind": "skill", "source": "inline", "name": "tabs", "description": "Use tabs.", "content": "# Tabs",
            "files": {{}}, "placement": "harness",
        }}
        e = define_environment("e", {{"sandbox": {{"kind": "fake"}}, "skills": [inline]}})

        @evaluate("x", {{"environment": e, "harness": {{"kind": "fake", "layout": "{layout}"}}}})
        def x(c): ...
        """,
    )

    done = evals("run", f"{FILE}::e@fake", "--", "sh", "-c", f"cat {place}/tabs/SKILL.md")

    assert "name: tabs" in done.stdout


def test_cells_that_differ_in_how_their_sandbox_starts_are_one(project: Project, evals: ReevalBuild) -> None:
    places = [project.directory / name for name in ("a", "b")]
    write_evals(
        project,
        f"""
        e = define_environment("e", {{"setup": ["echo made > made"]}})

        @evaluate("x", {{"environment": e, "sandbox": {{"kind": "fake", "dir": "{places[0]}"}}}})
        def x(c): ...

        @evaluate("y", {{"environment": e, "sandbox": {{"kind": "fake", "dir": "{places[1]}", "maxConcurrent": 1}}}})
        def y(c): ...
        """,
    )

    assert names(evals.build(FILE)) == ["e@fake"]


def test_cells_that_differ_in_what_their_sandbox_is_called_are_several(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        e = define_environment("e", {})

        @evaluate("x", {"environment": e, "sandbox": {"kind": "fake", "id": "one"}})
        def x(c): ...

        @evaluate("y", {"environment": e, "sandbox": {"kind": "fake", "id": "two"}})
        def y(c): ...
        """,
    )

    built = evals.build(FILE)

    assert [(cell["name"], cell["sandbox"]) for cell in built.value["cells"]] == [
        ("e@fake#x", "one"),
        ("e@fake#y", "two"),
    ]
    assert len({cell["key"] for cell in built.value["cells"]}) == 2
    assert len({cell["snapshot"] for cell in built.value["cells"]}) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            '"egress": "open"',
            'egress in evaluate("x") must be "proxy", "allow-all", "deny-all" or { allow: hosts } (got "open")',
        ),
        (
            '"egress": {"allow": ["a b"]}',
            (
                'egress.allow[0] in evaluate("x") must be the name of a host such as api.example.com, or '
                '*.example.com for subdomains (got "a b")'
            ),
        ),
        (
            '"sandbox": docker(engine="podman")',
            f'podman() in evaluate("x") {NOT_YET}; docker() with the same options is',
        ),
        ('"sandbox": docker(colour="red")', 'sandbox in evaluate("x"): docker() has no option colour'),
        (
            '"harness": {"kind": "cline"}',
            f'harness in evaluate("x"): there is no harness "cline"; there are {", ".join(HARNESSES)}',
        ),
        ('"harness": {"kind": "codex", "effort": "high"}', 'harness in evaluate("x"): codex() needs model'),
        (
            '"harness": {"kind": "fake", "id": "a::b"}',
            'harness.id in evaluate("x") must be printable text without "::", for it names cells',
        ),
        (
            '"environment": [e, e]',
            (
                'environment takes one environment, not a list (evaluate("x")). To compare environments, use compare: '
                "{ baseline, variants: [a, b] }. baseline is the control; variants are not layered on it."
            ),
        ),
    ],
)
def test_what_cannot_be_built_is_refused(project: Project, evals: ReevalBuild, options: str, said: str) -> None:
    write_evals(
        project,
        f"""
        e = define_environment("e", {{}})

        @evaluate("x", {{"environment": e, {options}}})
        def x(c): ...
        """,
    )

    assert refused(evals, FILE) == [said]


def test_evals_that_are_all_skipped_are_nothing_to_build(project: Project, evals: ReevalBuild) -> None:
    write_evals(project, '@evaluate("x", {}, mode="skip")\ndef x(c): ...\n\ntodo("y")')

    assert refused(evals, FILE) == ["it has no evals"]


@pytest.mark.conforms("125", "13", "exit 2")
def test_a_file_that_nobody_validated_is_refused_with_every_mistake(project: Project, evals: ReevalBuild) -> None:
    write_evals(
        project,
        """
        spec = {"steps": [], "setup": "npm ci", "files": {"../x": 1}, "env": {"API_TOKEN": "hunter2"}}

        @evaluate("x", {"environment": define_environment("my env", spec)})
        def x(c): ...

        @evaluate("y", {"environment": define_environment("e", {"rules": 1})})
        def y(c): ...
        """,
    )

    done = evals.build(FILE, code=2)

    assert "hunter2" not in done.stderr
    assert done.messages == [
        f"reeval: {FILE}: {said}"
        for said in (
            'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" (got "my env")',
            'Unknown field "steps" in defineEnvironment("my env"). Did you mean "setup"?',
            (
                'env.API_TOKEN in defineEnvironment("my env") is a literal string. '
                "Pass secrets with secret.fromEnv() so they're redacted and never recorded."
            ),
            (
                'files["../x"] in defineEnvironment("my env") has the segment \'..\', '
                'which is not a name: it is empty, "." or ".."'
            ),
            'files["../x"] in defineEnvironment("my env") must be a string or file(path) (got 1)',
            'setup in defineEnvironment("my env") must be a list (got "npm ci")',
            'rules in defineEnvironment("e") must be markdown or file(path) (got 1)',
        )
    ]


@pytest.mark.conforms("127")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("exit(3)", "before it was loaded: SystemExit: 3 (line 2)"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused(project: Project, evals: ReevalBuild, text: str, said: str) -> None:
    write_evals(project, text)

    (message,) = evals.build(FILE, code=2).messages

    assert message.startswith(f"reeval: {FILE}: ")
    assert said in message
