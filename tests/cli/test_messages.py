"""Mistakes: exit code 2, a sentence that names the file, and nothing built."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reeval_build
from tests.support.cli import ReevalBuild
from tests.support.index import opened_index
from tests.support.projects import Project

if TYPE_CHECKING:
    from tests.support.cli import Done

FINE = 'one = define_environment("one", {"sandbox": fake_sandbox()})\n'


def assert_nothing_is_built(reeval: ReevalBuild) -> None:
    if (reeval.store / "store.sqlite").exists():
        with opened_index(reeval.store) as database:
            assert database.execute("SELECT count(*) FROM records").fetchone() == (0,)


def refused(reeval: ReevalBuild, *arguments: str) -> list[str]:
    """What `build` says of a mistake."""
    done = reeval("build", *arguments, code=2)
    assert done.stdout == ""
    assert_nothing_is_built(reeval)
    assert done.messages == done.stderr.splitlines(), "nothing is said but messages"
    return [message.removeprefix("reeval: ") for message in done.messages]


def set_times(project: Project) -> None:
    for file in project.directory.glob("*.py"):
        os.utime(file, (1_700_000_000, 1_700_000_000))


def usage_error(done: Done) -> str:
    """The last line of what is said of a mistake on the command line."""
    assert done.stdout == ""
    return done.stderr.splitlines()[-1]


@pytest.mark.conforms("13")
def test_every_mistake_of_an_environment_is_said(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        """
        one = define_environment("e", {
            "steps": [], "image": "debian", "rules": 3, "setup": "npm ci", "env": {"1": "a", "API_TOKEN": "b"},
            "files": {"/etc/passwd": "", "a/../b": "", "c": 1},
        })
        """
    )

    said = refused(reeval, "env.py")

    assert [line.partition("defineEnvironment")[0] for line in said] == [
        'env.py: "image" isn\'t an environment field (',
        'env.py: Unknown field "steps" in ',
        'env.py: env["1"] in ',
        "env.py: env.API_TOKEN in ",
        'env.py: files["/etc/passwd"] in ',
        'env.py: files["a/../b"] in ',
        'env.py: files["c"] in ',
        "env.py: rules in ",
        "env.py: setup in ",
    ]


@pytest.mark.conforms("13", "exit 2")
def test_every_independent_mistake_of_a_file_is_said_in_its_order(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        """
        from reeval_build import skill
        base = define_environment("base", {"workspace": git(""), "rules": 3, "files": {"a": "", "a/b": ""}})
        child = base.extend("child", {"setup": "npm ci", "sandbox": docker(cpus=0)})
        again = base.extend("my env", lambda h: {"skills": [h.skill.local("s", placement="home")]})
        right = define_environment("right", {"sandbox": fake_sandbox(), "setup": ["touch built"]})
        """
    )

    assert refused(reeval, "env.py") == [
        'env.py: git() needs a repository: a URL, github:owner/repo, or a local path (got "")',
        'env.py: rules in defineEnvironment("base") must be markdown or file(path) (got 3)',
        (
            'env.py: files["a"] and files["a/b"] in defineEnvironment("base") cannot both be there: '
            '"a" would be a file and a directory'
        ),
        "env.py: cpus in docker() must be a number above 0 (got 0)",
        'env.py: setup in defineEnvironment("child") must be a list (got "npm ci")',
        'env.py: placement in skill.local() must be "harness" or "workspace" (got "home")',
        'env.py: defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" (got "my env")',
    ]


MISTAKE = 'one = define_environment("e", {"rules": 3})\n'
SAID = 'env.py: rules in defineEnvironment("e") must be markdown or file(path) (got 3)'


@pytest.mark.parametrize(
    "text",
    [
        "base = define_environment('b', {'files': directory('gone')})\nbase.layers[0].spec.files['a.txt']\n",
        "import sys\nsys.exit(len(one.layers))\n",
        "raise ValueError(one)\n",
        "one.extend()\n",
    ],
)
def test_what_may_be_a_consequence_of_a_mistake_is_not_said_with_it(
    project: Project, reeval: ReevalBuild, text: str
) -> None:
    gone = f"env.py: directory() has nothing to copy: {project.directory}/gone is not there"
    project.define("from reeval_build import directory\n" + MISTAKE + text)

    assert refused(reeval, "env.py") == [SAID, *([gone] if "gone" in text else [])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' (line 3)"),
        ("from reeval_build import nothing\n", "ImportError: cannot import name 'nothing' from 'reeval_build'"),
        ("two = on.extend('two', {})\n", "NameError: name 'on' is not defined"),
        ("import beside\n", "SyntaxError: '(' was never closed (line 1 of "),
    ],
)
def test_what_is_no_consequence_of_a_mistake_is_said_after_it(
    project: Project, reeval: ReevalBuild, text: str, said: str
) -> None:
    project.write("beside.py", "x = (\n")
    project.define(MISTAKE + text)

    first, second = refused(reeval, "env.py")

    assert first == SAID
    assert second.startswith(f"env.py: {said}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("secret.fromEnv('A')", "AttributeError: secret has no attribute 'fromEnv'; did you mean \"from_env\"?"),
        ("skill.locl('x')", "AttributeError: skill has no attribute 'locl'; did you mean \"local\"?"),
        ("one.extendEnvironment('two', {})", "'extendEnvironment'; did you mean \"extend_environment\"?"),
        ("reeval_build.fakeSandbox()", "'fakeSandbox'; did you mean \"fake_sandbox\"?"),
        ("from reeval_build import defineEnvironment", '; did you mean "define_environment"?'),
        ("podman()", "NameError: name 'podman' is not defined; import it from reeval_build"),
        ("skill('x')", "TypeError: skill is not callable"),
        ("secret('A')", "TypeError: secret() is given too many arguments without a name: it is secret(*, optional="),
        ("git('./x', 'v1')", "TypeError: git() is given too many arguments without a name: it is git(repo, *, ref="),
        ("mcp.http('https://a.b', {})", "without a name: it is mcp.http(url, *, headers=None)"),
        ("one.extend('two', {}, {})", "without a name: it is Environment.extend(name, spec)"),
        ("secret(host=['a.b'])", "secret() got an unexpected keyword argument 'host': it is secret(*, optional="),
        ("secret.from_env()", "TypeError: secret.from_env() missing 1 required positional argument: 'name'"),
        ("docker('node:24')", "docker() is given too many arguments without a name: it is docker(**options)"),
    ],
)
def test_an_error_of_python_is_said_in_the_words_of_who_called_a_helper(
    project: Project, reeval: ReevalBuild, line: str, said: str
) -> None:
    project.define(f"import reeval_build\n{FINE}{line}\n")

    (message,) = refused(reeval, "env.py")

    assert said in message
    assert re.search(r" \(line \d+\)$", message)
    assert "Helper" not in message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("'text'.titel", "AttributeError: 'str' object has no attribute 'titel'"),
        ("re.fulmatch", "AttributeError: module 're' has no attribute 'fulmatch'"),
        ("(lambda: 1)(2)", "TypeError: <lambda>() takes 0 positional arguments but 1 was given"),
        ("min()", "TypeError: min expected at least 1 argument, got 0"),
    ],
)
def test_an_error_that_is_about_no_helper_is_said_as_python_says_it(
    project: Project, reeval: ReevalBuild, line: str, said: str
) -> None:
    project.define(f"import re\n{line}\n")

    assert refused(reeval, "env.py") == [f"env.py: {said} (line 3)"]


def test_mistakes_that_a_thread_of_the_file_raises_are_said_once(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        MISTAKE
        + """
from concurrent.futures import ThreadPoolExecutor

def define():
    define_environment("e", {"rules": 3, "setup": 4})

with ThreadPoolExecutor() as threads:
    threads.submit(define).result()
"""
    )

    assert refused(reeval, "env.py") == [SAID, 'env.py: setup in defineEnvironment("e") must be a list (got 4)']


def test_what_is_not_supported_yet_is_said_where_there_is_no_mistake(project: Project, reeval: ReevalBuild) -> None:
    text = """
    one = define_environment("one", {"sandbox": docker(engine="podman")})
    two = one.extend("two", {"sandbox": docker(from_="x:1", engine="podman")})
    """
    not_yet = "is not supported by this version of reeval-build yet; docker() with the same options is"
    project.define(text)

    assert refused(reeval, "env.py") == [
        f'env.py: podman() in defineEnvironment("{name}") {not_yet}' for name in ("one", "two")
    ]

    project.define(text + "\n    raise ValueError('and more')\n")

    assert refused(reeval, "env.py") == ["env.py: ValueError: and more (line 6)"]


@pytest.mark.conforms("13")
def test_a_mistake_in_one_of_two_files_stops_both(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE, path="a.py")
    project.define('two = define_environment("my env", {})', path="b.py")

    assert refused(reeval, "a.py", "b.py") == [
        'b.py: defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" (got "my env")'
    ]


@pytest.mark.conforms("13", "57")
@pytest.mark.parametrize("command", [["build"], ["graph"], ["run", "e@fake", "--", "true"]])
def test_each_command_says_the_same_of_a_mistake(project: Project, reeval: ReevalBuild, command: list[str]) -> None:
    project.define('one = define_environment("e", {"rules": 3})')

    done = reeval(*command, code=2)

    assert done.stderr == 'reeval: env.py: rules in defineEnvironment("e") must be markdown or file(path) (got 3)\n'
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (\n", "SyntaxError: '(' was never closed (line 1)"),
        ("x = 1\n\x00", "SyntaxError: source code "),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' (line 1)"),
        ("\n\nraise ValueError('two\\n  lines')\n", "ValueError: two lines (line 3)"),
        ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError: division by zero (line 2)"),
        ("raise ValueError\n", "ValueError: no message (line 1)"),
        ("import sys\nsys.exit()\n", "it called sys.exit(None) while it was loaded"),
        ("import sys\nsys.exit('enough')\n", "it called sys.exit('enough') while it was loaded"),
        ("def f():\n    f()\n\nf()\n", "RecursionError: maximum recursion depth exceeded (line 2)"),
        ("class Own(BaseException): ...\nraise Own('mine')\n", "Own: mine (line 2)"),
        (
            "class Own(Exception):\n    def __str__(self): raise ValueError\nraise Own\n",
            "Own: no message (line 3)",
        ),
        ("open('/no/such/file')\n", "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file' (line 1)"),
    ],
)
def test_what_a_file_raises_is_said_with_its_line(project: Project, reeval: ReevalBuild, text: str, said: str) -> None:
    project.write("env.py", text)

    (message,) = refused(reeval, "env.py")
    assert message.startswith(f"env.py: {said}")


def test_a_syntax_error_beside_the_file_names_the_file_it_is_in(project: Project, reeval: ReevalBuild) -> None:
    project.write("beside.py", "x = 1\ny = (\n")
    project.write("env.py", "import beside\n")

    assert refused(reeval, "env.py") == [
        f"env.py: SyntaxError: '(' was never closed (line 2 of {project.directory}/beside.py)"
    ]


def test_a_mistake_in_a_module_beside_the_file_names_the_file(project: Project, reeval: ReevalBuild) -> None:
    project.define('shared = define_environment("e", {"rules": 3})', path="beside.py")
    project.write("env.py", "from beside import shared\n")

    assert refused(reeval, "env.py") == [
        'env.py: rules in defineEnvironment("e") must be markdown or file(path) (got 3)'
    ]


def test_source_that_is_not_utf8_is_refused(project: Project, reeval: ReevalBuild) -> None:
    project.write("env.py", b"x = '\xff'\n")

    (said,) = refused(reeval, "env.py")

    assert said.startswith("env.py: SyntaxError: ")


def test_what_a_file_prints_is_no_result(project: Project, reeval: ReevalBuild) -> None:
    project.define("import os\nprint('printed by Python')\nos.system('echo printed by a program')\n" + FINE)

    built = reeval.build()

    assert built.summary["failed"] == 0
    assert built.stdout.lstrip().startswith("{")
    assert "printed by Python\n" in built.stderr
    assert "printed by a program\n" in built.stderr


def test_an_edit_of_the_same_size_and_time_is_seen(project: Project, reeval: ReevalBuild) -> None:
    project.write("beside.py", 'RULES = "one"\n')
    project.define(
        """
        import beside
        a = define_environment("a", {"sandbox": fake_sandbox(), "rules": beside.RULES})
        b = define_environment("b", {"sandbox": fake_sandbox(), "rules": "ONE"})
        """
    )
    set_times(project)
    reeval.build("env.py")
    project.edit("beside.py", '"one"', '"two"')
    project.edit("env.py", '"ONE"', '"TWO"')
    set_times(project)

    assert reeval.build("env.py").phases("ran") == ["root", "root", "rules", "rules", "snapshot", "snapshot"]


def test_a_file_without_an_environment_is_refused(project: Project, reeval: ReevalBuild) -> None:
    project.write("env.py", "x = 1\n")

    assert refused(reeval, "env.py") == ["env.py: there is no environment at its top level"]


def test_an_environment_below_the_top_level_does_not_count(project: Project, reeval: ReevalBuild) -> None:
    project.define('those = [define_environment("one", {})]')

    assert refused(reeval, "env.py") == ["env.py: there is no environment at its top level"]


def test_an_unknown_name_lists_those_there_are(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE + 'two = one.extend("two", {})\n')

    assert refused(reeval, "env.py::three") == ['env.py: there is no environment "three"; it has one, two']


@pytest.mark.parametrize("target", ["env.py", "no/such/dir/", "env.py::one"])
def test_a_target_that_is_not_there_is_named(project: Project, reeval: ReevalBuild, target: str) -> None:
    path = target.partition("::")[0]

    assert refused(reeval, target) == [f"{path}: there is no such file or directory"]


@pytest.mark.parametrize("target", ["env.txt", "env.txt::one", "env"])
def test_a_target_of_another_kind_is_refused(project: Project, reeval: ReevalBuild, target: str) -> None:
    project.write("env.txt", FINE)
    project.write("env", FINE)
    path = target.partition("::")[0]

    assert refused(reeval, target) == [
        f"{path}: a target is a .py or .json file, a directory, FILE::NAME, or - for JSON"
    ]


@pytest.mark.parametrize("command", [["build", "evals::one"], ["run", "evals::one@fake", "--", "true"]])
def test_a_name_in_a_directory_is_refused(project: Project, reeval: ReevalBuild, command: list[str]) -> None:
    project.define(FINE, path="evals/env.py")

    done = reeval(*command, code=2)

    assert done.messages == ["reeval: evals: is a directory; FILE::NAME names an environment of one file"]


def test_a_directory_without_definitions_is_refused(project: Project, reeval: ReevalBuild) -> None:
    project.write("some/script.py", "raise SystemExit('not a definition')\n")

    assert refused(reeval, "some") == [
        "some: no .py file below it defines an environment with reeval_build, or an eval with reeval_python"
    ]
    assert refused(reeval) == [
        ".: no .py file below it defines an environment with reeval_build, or an eval with reeval_python"
    ]


def test_two_different_environments_of_one_name_are_refused(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE, path="a.py")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "rules": "other"})', path="b.py")

    assert refused(reeval, ".") == ['b.py: environment "one" is also defined, differently, in a.py']


def test_two_different_environments_of_one_name_in_one_file_are_refused(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE + 'two = define_environment("one", {"rules": "other"})\n')

    assert refused(reeval, "env.py") == ['env.py: environment "one" is also defined, differently, in env.py']


def test_one_environment_imported_into_two_files_is_one(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE, path="shared.py")
    for name in ("a", "b"):
        project.define(f'from shared import one\n{name} = one.extend("{name}", {{}})\n', path=f"{name}.py")

    assert list(reeval.build().snapshots) == ["one@fake", "a@fake", "b@fake"]


def test_a_target_that_is_given_twice_counts_once(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE)

    built = reeval.build("env.py", ".", "env.py::one", "--harness", "codex", "--harness", "codex")

    assert list(built.snapshots) == ["one@codex"]


def test_a_directory_is_searched_but_for_what_is_not_the_authors(project: Project, reeval: ReevalBuild) -> None:
    mistake = "from reeval_build import nothing_of_this_name\n"
    project.write("evals/.venv/env.py", mistake)
    project.write("evals/.hidden/env.py", mistake)
    project.write("evals/node_modules/package/env.py", mistake)
    project.write("evals/__pycache__/env.py", mistake)
    project.write("evals/environment/pyvenv.cfg", "")
    project.write("evals/environment/lib/env.py", mistake)
    project.write("evals/notes.txt", mistake)
    project.write("evals/other.py", "raise ValueError('it does not import reeval_build')\n")
    for name in ("deep/down/a.py", "b.py"):
        stem = Path(name).stem
        project.define(f'it = define_environment("{stem}", {{"sandbox": fake_sandbox()}})', path=f"evals/{name}")

    assert list(reeval.build("evals").snapshots) == ["b@fake", "a@fake"]


def test_a_loop_of_links_does_not_trap_the_search(project: Project, reeval: ReevalBuild) -> None:
    project.define(FINE)
    (project.directory / "loop").symlink_to(".")
    (project.directory / "gone.py").symlink_to("nowhere")

    assert list(reeval.build().snapshots) == ["one@fake"]


@pytest.mark.parametrize("package", [False, True])
def test_files_of_one_name_beside_two_definitions_are_kept_apart(
    project: Project, reeval: ReevalBuild, *, package: bool
) -> None:
    place, module = ("parts/rules.py", "parts.rules") if package else ("rules.py", "rules")
    for name in ("a", "b"):
        project.write(f"{name}/{place}", f'RULES = "the rules of {name}\\n"\n')
        project.define(
            f"""
            from {module} import RULES
            {name} = define_environment("{name}", {{"sandbox": fake_sandbox(), "rules": RULES}})
            """,
            path=f"{name}/env.py",
        )

    reeval.build("a", "b")

    for name in ("a", "b"):
        done = reeval("run", f"{name}/env.py::{name}@fake", "--", "cat", "AGENTS.md")
        assert done.stdout.startswith(f"the rules of {name}\n")


def test_a_directory_whose_name_begins_like_that_of_the_package_is_the_authors(tmp_path: Path) -> None:
    package = Path(reeval_build.__file__).parent
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    project = Project(tmp_path / f"{package.name}_evals")
    reeval = ReevalBuild(project.directory, tmp_path / "store", env={"PYTHONPATH": str(tmp_path)})
    for name in ("a", "b"):
        project.write(f"{name}/rules.md", f"the rules of {name}\n")
        project.write(f"{name}/beside.py", 'from reeval_build import file\nRULES = file("rules.md")\n')
        project.define(
            f"""
            from beside import RULES
            {name} = define_environment("{name}", {{"sandbox": fake_sandbox(), "rules": RULES}})
            """,
            path=f"{name}/env.py",
        )

    reeval.build("a", "b")

    for name in ("a", "b"):
        assert reeval("run", f"{name}@fake", "--", "cat", "AGENTS.md").stdout.startswith(f"the rules of {name}\n")


def test_paths_count_from_the_file_that_names_them(project: Project, reeval: ReevalBuild) -> None:
    project.write("lib/rules.md", "of lib\n")
    project.write("evals/rules.md", "of evals\n")
    project.write("lib/parts.py", 'from reeval_build import file\n\nRULES = file("rules.md")\n')
    project.define(
        """
        import sys
        sys.path.insert(0, __file__ + "/../../lib")
        sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1] / "lib"))
        from parts import RULES
        lib = define_environment("lib", {"sandbox": fake_sandbox(), "rules": RULES})
        own = define_environment("own", {"sandbox": fake_sandbox(), "rules": file("rules.md")})
        """,
        path="evals/env.py",
    )

    for name, rules in (("lib", "of lib\n"), ("own", "of evals\n")):
        done = reeval("run", f"evals/env.py::{name}@fake", "--", "cat", "AGENTS.md")
        assert done.stdout.startswith(rules)


def test_names_of_files_may_be_any_bytes(project: Project, reeval: ReevalBuild) -> None:
    name = b"caf\xe9 \n'.py".decode("utf-8", "surrogateescape")
    project.define(FINE, path=name)

    assert list(reeval.build().snapshots) == ["one@fake"]
    assert list(reeval.build(f"{name}::one").snapshots) == ["one@fake"]

    project.define('one = define_environment("one", {"rules": 3})', path=name)
    (said,) = reeval("build", code=2).stderr.splitlines()
    assert said == (
        'reeval: caf\\xe9 \\n\'.py: rules in defineEnvironment("one") must be markdown or file(path) (got 3)'
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "--no-such-option"], "Error: No such option"),
        (["bild"], "Error: No such command 'bild'."),
        (["build", "--harness", "nope"], "Error: Invalid value for '--harness': 'nope' is not one of "),
        (["build", "--sandbox", "nope"], "Error: Invalid value for '--sandbox': 'nope' is not one of "),
        (["build", "--jobs", "0"], "Error: Invalid value for '--jobs': 0 is not in the range x>=1."),
        (["build", "--jobs", "many"], "Error: Invalid value for '--jobs': 'many' is not a valid integer range."),
        (["graph", "--format", "nope"], "Error: Invalid value for '--format': 'nope' is not one of "),
        (["run"], "Error: Missing argument 'CELL'."),
        (["run", "one@fake"], "Error: Missing argument '-- COMMAND [ARGUMENT]...'."),
    ],
)
def test_a_mistake_on_the_command_line_is_said_with_how_to_get_help(
    project: Project, reeval: ReevalBuild, arguments: list[str], said: str
) -> None:
    done = reeval(*arguments, code=2)

    assert usage_error(done).startswith(said)
    assert "--help' for help." in done.stderr


def test_a_store_that_is_a_file_is_refused(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    project.define(FINE)
    file = project.write("store", "a file\n")

    done = ReevalBuild(project.directory, file)("build", code=2)
    assert usage_error(done) == f"Error: Invalid value for '--store': Directory '{file}' is a file."

    by_variable = ReevalBuild(project.directory, file, env={"REEVAL_BUILD_HOME": str(file)}, names_store=False)
    (said,) = by_variable("build", code=3).messages
    assert said.startswith(f"reeval: the store at {file} cannot be used: ")
    assert file.read_text() == "a file\n"


def test_places_may_have_any_bytes_in_their_names(tmp_path: Path) -> None:
    project = Project(tmp_path / b"pr\xe9 \n oject".decode("utf-8", "surrogateescape"))
    reeval = ReevalBuild(project.directory, tmp_path / b"st\xff \n ore".decode("utf-8", "surrogateescape"))
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    project.write("rules.md", "Be good.\n")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0", init=True), "rules": file("rules.md"),
            "setup": ["echo made > made"],
        })
        bad = define_environment("bad", {
            "sandbox": fake_sandbox(), "rules": file("gone.md"), "workspace": git("gone"), "setup": ["exit 1"],
        })
        """
    )

    built = reeval.build(code=3)

    assert built.labels("failed") == ["rules AGENTS.md", "workspace gone"]
    assert len(built.messages) == 2
    assert reeval.build("env.py::one").ran == []
    done = reeval("run", "one@fake", "--", "sh", "-c", "cat made; touch new")
    assert done.stdout == "made\none@fake: 1 changed since the snapshot\n  added    new\n"


def test_a_working_directory_that_is_gone_is_no_trouble_for_absolute_paths(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    file = project.define(FINE)
    script = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec "$@"'
    elsewhere = ReevalBuild(reeval.directory, reeval.store, prefix=("sh", "-c", script, "sh"))

    assert elsewhere.build(file).summary["failed"] == 0
    assert elsewhere("build", "env.py", code=2).messages == ["reeval: env.py: there is no such file or directory"]
