from __future__ import annotations

import pytest

from reeval_build import EnvironmentSpec, define_environment, docker, fake_sandbox, file, git, mcp, secret, step
from reeval_build.digest import BLOB
from reeval_build.errors import DefinitionError, InfraError
from reeval_build.plan.resolution import ResolvedTree, base_name
from reeval_build.plan.work import FilesWork, InputsWork, InstallWork, PlacedFile, RulesWork, SetupWork
from tests.support.plans import base, cell, graph_of, host_file, node, nodes

WORKSPACE = git("https://example.com/a.git", ref="v1.0.0")


def keys(*cells, phase=None, **world) -> set[str]:
    graph = graph_of(*cells, **world)
    return {found.recipe.hex for found in graph.nodes.values() if phase in {None, found.phase}}


def one(spec, harness="fake", name="e"):
    return cell(define_environment(name, spec), harness)


def same(first, second, *, phase=None, **world) -> bool:
    """Whether two specs need the same nodes."""
    return keys(one(first), phase=phase, **world) == keys(one(second), phase=phase, **world)


def test_a_full_environment_has_a_node_for_every_phase_in_the_documented_order():
    environment = define_environment(
        "e",
        {
            "sandbox": docker(from_="x:1", install=["i", "j"]),
            "workspace": WORKSPACE,
            "files": {"a": "x"},
            "rules": "r",
            "setup": ["s", "t"],
        },
    )

    graph = graph_of(cell(environment))

    assert [found.phase for found in graph.nodes.values()] == [
        "base", "install", "install", "workspace", "files", "rules", "root", "setup", "setup", "snapshot",
    ]  # fmt: skip
    parents = {
        found.phase: [(parent.role, graph.nodes[parent.recipe].phase) for parent in found.parents]
        for found in graph.nodes.values()
    }
    assert parents["base"] == parents["workspace"] == parents["files"] == parents["rules"] == []
    assert parents["install"] == [("state", "install")]
    assert parents["root"] == [("state", "install"), ("workspace", "workspace"), ("files", "files"), ("rules", "rules")]
    assert parents["setup"] == [("state", "setup")]
    assert parents["snapshot"] == [("state", "setup"), ("root", "root")]


def test_an_environment_that_says_nothing_is_a_base_an_empty_root_and_a_snapshot():
    graph = graph_of(one({}))

    assert [found.phase for found in graph.nodes.values()] == ["base", "root", "snapshot"]
    assert node(graph, "snapshot").parents[0].recipe == node(graph, "root").recipe


@pytest.mark.conforms("87")
def test_steps_follow_each_other_parents_first():
    environment = define_environment("p", {"setup": ["a", "b"]}).extend("c", {"setup": ["c"]})

    graph = graph_of(cell(environment))

    assert [found.work.run for found in nodes(graph, "setup") if isinstance(found.work, SetupWork)] == ["a", "b", "c"]


@pytest.mark.conforms("74", "fault 17")
def test_environments_with_one_image_and_install_have_its_nodes_once():
    sandbox = docker(from_="x:1", install=["i"])

    graph = graph_of(
        one({"sandbox": sandbox, "rules": "a"}, name="a"), one({"sandbox": sandbox, "rules": "b"}, name="b")
    )

    assert (len(nodes(graph, "base")), len(nodes(graph, "install")), len(nodes(graph, "root"))) == (1, 1, 2)


@pytest.mark.conforms("75")
def test_images_of_different_content_have_nothing_in_common():
    assert not keys(one({"sandbox": docker(from_="node:22")})) & keys(one({"sandbox": docker(from_="node:24")}))


@pytest.mark.conforms("76", "fault 7")
def test_an_image_counts_by_its_content_and_not_by_its_tag():
    environment = {"sandbox": docker(from_="x:1"), "setup": ["a"]}

    before, moved = ({"bases": {"x:1": base(content)}} for content in ("old", "new"))

    assert not keys(one(environment), **before) & keys(one(environment), **moved)
    assert keys(one(environment), **before) == keys(
        one({**environment, "sandbox": docker(from_="y:2")}), bases={"y:2": base("old")}
    )


def test_an_image_that_is_called_like_the_fake_sandbox_is_an_image():
    fake, image = base_name(fake_sandbox()), base_name(docker(from_="fake sandbox"))

    assert str(fake) == str(image)
    assert fake != image


def test_an_image_for_another_platform_is_another_image():
    environment = one({"sandbox": docker(from_="x:1")})

    assert not keys(environment, bases={"x:1": base("x")}) & keys(
        environment, bases={"x:1": base("x", platform="linux/arm64")}
    )


@pytest.mark.conforms("77")
def test_the_order_of_install_counts_and_its_time_limits_do_not():
    def installing(*steps):
        return {"sandbox": docker(from_="x:1", install=steps)}

    assert not same(installing("i", "j"), installing("j", "i"), phase="install")
    assert same(installing("i", "j"), installing({"run": "i", "timeout": "10m"}, "j"))


@pytest.mark.conforms("87", "fault 15")
def test_appending_a_step_keeps_every_earlier_node():
    before, after = (graph_of(one({"workspace": WORKSPACE, "setup": setup})) for setup in (["a"], ["a", "b"]))

    assert after.nodes.keys() - before.nodes.keys() == {nodes(after, "setup")[1].recipe, node(after, "snapshot").recipe}


def test_a_step_with_inputs_stands_on_those_and_is_put_on_the_whole():
    graph = graph_of(one({"setup": ["a", step("b", inputs=["src", "Makefile"]), "c"]}))

    assert [found.phase for found in graph.nodes.values()] == [
        "base", "root", "setup", "inputs", "setup", "merge", "setup", "snapshot",
    ]  # fmt: skip
    first, second, third = nodes(graph, "setup")
    inputs, merge = node(graph, "inputs"), node(graph, "merge")
    assert isinstance(inputs.work, InputsWork)
    assert inputs.work.inputs == ("Makefile", "src")
    assert [(parent.role, parent.recipe) for parent in inputs.parents] == [("state", first.recipe)]
    assert [(parent.role, parent.recipe) for parent in second.parents] == [("state", inputs.recipe)]
    assert [(parent.role, parent.recipe) for parent in merge.parents] == [
        ("state", first.recipe),
        ("seen", inputs.recipe),
        ("left", second.recipe),
    ]
    assert [parent.recipe for parent in third.parents] == [merge.recipe]


def test_steps_that_declare_the_same_see_the_same_and_the_order_in_which_they_do_does_not_matter():
    graph = graph_of(
        one({"setup": [step("a", inputs=["x", "y"])]}, name="one"),
        one({"setup": [step("b", inputs=["y", "x"])]}, name="other"),
    )

    assert len(nodes(graph, "inputs")) == 1
    assert len(nodes(graph, "setup")) == 2


def test_what_a_step_declares_counts():
    assert not same({"setup": [step("a", inputs=["x"])]}, {"setup": [step("a", inputs=["y"])]}, phase="setup")
    assert not same({"setup": [step("a", inputs=[])]}, {"setup": ["a"]}, phase="setup")


@pytest.mark.conforms("87")
def test_editing_a_step_changes_it_and_what_follows():
    before, after = (graph_of(one({"setup": setup})) for setup in (["a", "b", "c"], ["a", "B", "c"]))

    kept = [found.recipe for found in nodes(before, "setup") if found.recipe in after.nodes]
    assert kept == [nodes(before, "setup")[0].recipe]
    assert node(before, "root").recipe in after.nodes


@pytest.mark.conforms("88")
@pytest.mark.parametrize(
    "change",
    [{"files": {"a": "y"}}, {"files": {"b": "x"}}, {"files": {"~/a": "x"}}, {"rules": "s"}, {"workspace": None}],
    ids=str,
)
def test_changing_what_is_placed_changes_the_root_and_every_step(change):
    spec = {"workspace": WORKSPACE, "files": {"a": "x"}, "rules": "r", "setup": ["a", "b"]}
    changed = {field: value for field, value in {**spec, **change}.items() if value is not None}

    for phase in ("root", "setup", "snapshot"):
        assert not keys(one(spec), phase=phase) & keys(one(changed), phase=phase)
    assert same(spec, changed, phase="base")


@pytest.mark.conforms("89", "fault 18")
def test_a_variable_counts_in_every_step_and_a_time_limit_in_none():
    spec = {"env": {"A": "1"}, "setup": ["a", "b"]}

    assert not keys(one(spec), phase="setup") & keys(one({**spec, "env": {"A": "2"}}), phase="setup")
    assert not keys(one(spec), phase="setup") & keys(one({**spec, "env": {"B": "1"}}), phase="setup")
    assert same(spec, {**spec, "env": {"A": "2"}}, phase="root")
    assert same(spec, {**spec, "setup": ["a", {"run": "b", "timeout": "1h"}]})


@pytest.mark.conforms("89")
def test_the_egress_policy_counts_in_every_step_and_in_the_cell():
    spec = {"env": {"A": "1"}, "setup": ["a", "b"], "sandbox": docker(install=["i"])}
    lists = [{"allow": hosts} for hosts in ([], ["x.example"], ["*.x.example"])]
    policies: list[object] = [None, "allow-all", "deny-all", *lists]
    specs = [spec if policy is None else {**spec, "egress": policy} for policy in policies]

    assert len({key for one_spec in specs for key in keys(one(one_spec), phase="setup")}) == 2 * len(policies)
    assert len({graph_of(one({"egress": policy} if policy else {})).cells[0].key for policy in policies}) == 6
    assert len({graph_of(one(one_spec)).cells[0].key for one_spec in specs}) == len(policies)
    for phase in ("base", "install", "root"):
        assert len({key for one_spec in specs for key in keys(one(one_spec), phase=phase)}) == 1


def test_a_policy_counts_by_what_it_says_and_not_by_how():
    spec = {"setup": ["a"]}
    hosts, other = ["b.example", "*.A.example"], ["*.a.example", "B.example", "b.example"]

    assert same(spec, {**spec, "egress": "proxy"})
    assert same({**spec, "egress": {"allow": hosts}}, {**spec, "egress": {"allow": other}})


def test_a_policy_that_is_not_enforced_is_warned_of_once_an_environment():
    base = define_environment("base", {"egress": "deny-all"})
    listed = base.extend("listed", {"egress": {"allow": ["x.example"]}})
    free = base.extend("free", {"egress": "allow-all"})

    graph = graph_of(
        *(cell(environment, harness) for environment in (base, listed, free) for harness in ("fake", "codex"))
    )

    assert graph.warnings == tuple(
        f'env.py: egress of the environment "{name}" is recorded, not enforced: '
        "steps and `run` have the engine's own network"
        for name in ("base", "listed")
    )


@pytest.mark.conforms("89")
def test_a_variable_matters_to_no_snapshot_of_an_environment_without_steps_but_to_its_cell():
    one_value, other_value = (graph_of(one({"env": {"A": value}})) for value in "12")

    assert one_value.cells[0].snapshot == other_value.cells[0].snapshot
    assert one_value.cells[0].key != other_value.cells[0].key


@pytest.mark.conforms("83")
def test_a_working_directory_counts():
    assert not same({"setup": [{"run": "a", "cwd": "x"}]}, {"setup": ["a"]}, phase="setup")
    assert same({"setup": [{"run": "a", "cwd": "."}]}, {"setup": ["a"]})


@pytest.mark.parametrize("first", ["10m", "1m"])
def test_cells_that_share_a_step_and_disagree_on_its_time_limit_get_the_longer_one(first):
    second = {"10m": "1m", "1m": "10m"}[first]

    graph = graph_of(*(
        one({"sandbox": docker(install=[{"run": "i", "timeout": limit}]), "setup": [{"run": "a", "timeout": limit}]},
            name=f"e{limit}")
        for limit in (first, second)
    ))  # fmt: skip

    install, setup = node(graph, "install").work, node(graph, "setup").work
    assert isinstance(install, InstallWork)
    assert isinstance(setup, SetupWork)
    assert (install.timeout_s, setup.timeout_s) == (600, 600)


@pytest.mark.conforms("42", "fault 19")
def test_the_order_in_which_dictionaries_were_written_does_not_matter():
    spec = {"env": {"A": "1", "B": "2"}, "files": {"a": "1", "b": "2"}, "setup": ["s"]}
    reverse = {
        field: dict(reversed(value.items())) if isinstance(value, dict) else value for field, value in spec.items()
    }

    assert same(spec, reverse)
    assert graph_of(one(spec)).cells[0].key == graph_of(one(reverse)).cells[0].key


@pytest.mark.conforms("34", "35")
def test_the_bytes_of_a_file_count_and_not_where_they_come_from():
    text, hosted, elsewhere = {"files": {"a": "x"}}, {"files": {"a": file("/p/a")}}, {"files": {"a": file("/q/b")}}
    world = {"files": {"/p/a": host_file(b"x"), "/q/b": host_file(b"x")}}

    assert keys(one(text), **world) == keys(one(hosted), **world) == keys(one(elsewhere), **world)
    assert keys(one(hosted), phase="files", files={"/p/a": host_file(b"y")}) != keys(
        one(hosted), phase="files", **world
    )


@pytest.mark.conforms("35", "38")
@pytest.mark.parametrize("destination", ["b", "d/a", "~/a"])
def test_the_destination_of_a_file_counts(destination):
    assert not same({"files": {"a": "x"}}, {"files": {destination: "x"}}, phase="files")


@pytest.mark.conforms("36", "fault 38")
def test_the_executable_bit_of_a_file_counts():
    environment = one({"files": {"a": file("/p/a")}})

    plain, script = ({"files": {"/p/a": host_file(b"x", executable=executes)}} for executes in (False, True))

    assert not keys(environment, phase="files", **plain) & keys(environment, phase="files", **script)


@pytest.mark.conforms("fault 11")
def test_files_whose_names_and_contents_join_to_one_text_are_different():
    assert not same({"files": {"ab": "c"}}, {"files": {"a": "bc"}}, phase="files")
    assert not same({"files": {"a": "b", "c": ""}}, {"files": {"a": "", "c": "b"}}, phase="files")
    assert not same({"setup": ["a b", "c"]}, {"setup": ["a", "b c"]}, phase="setup")
    assert not same(
        {"env": {"A": "1 B=2"}, "setup": ["a"]}, {"env": {"A": "1", "B": "2"}, "setup": ["a"]}, phase="setup"
    )


@pytest.mark.conforms("54")
@pytest.mark.parametrize(
    ("harness", "name"), [("claude-code", "CLAUDE.md"), ("codex", "AGENTS.md"), ("fake", "AGENTS.md")]
)
def test_rules_are_in_the_file_that_the_harness_reads(harness, name):
    work = node(graph_of(one({"rules": "r"}, harness)), "rules").work

    assert isinstance(work, RulesWork)
    assert work.file.destination.text == name
    assert (work.file.digest, work.file.size) == (BLOB.digest(b"r"), 1)


@pytest.mark.conforms("56", "fault 17")
def test_harnesses_that_read_one_rules_file_share_everything_and_others_all_but_the_rules():
    spec = {"workspace": WORKSPACE, "files": {"a": "x"}, "rules": "r", "setup": ["s"]}

    graph = graph_of(*(one(spec, harness) for harness in ("claude-code", "codex", "fake")))

    counts = {phase: len(nodes(graph, phase)) for phase in ("base", "workspace", "files", "rules", "root", "setup")}
    assert counts == {"base": 1, "workspace": 1, "files": 1, "rules": 2, "root": 2, "setup": 2}
    claude, codex, fake = graph.cells
    assert codex.snapshot == fake.snapshot != claude.snapshot
    assert len({planned.key for planned in graph.cells}) == 3


def test_an_environment_without_rules_is_one_snapshot_on_every_harness():
    graph = graph_of(*(one({"setup": ["s"]}, harness) for harness in ("claude-code", "codex", "fake")))

    assert len({planned.snapshot for planned in graph.cells}) == 1


def test_rules_are_never_executable():
    environment = one({"rules": file("/r.md")})

    assert keys(environment, files={"/r.md": host_file(b"r", executable=True)}) == keys(
        environment, files={"/r.md": host_file(b"r")}
    )


@pytest.mark.conforms("55", "message: rules over files")
def test_rules_over_a_file_of_that_name_are_warned_of():
    environment = define_environment("e", {"files": {"CLAUDE.md": "f", "AGENTS.md": "f"}, "rules": "r"})

    graph = graph_of(cell(environment, "claude-code", file="some/env.py"), cell(environment, "codex"))

    assert graph.warnings == (
        'some/env.py: files["CLAUDE.md"] of e@claude-code is replaced by its rules, which are written later',
        'env.py: files["AGENTS.md"] of e@codex is replaced by its rules, which are written later',
    )


@pytest.mark.conforms("message: file and directory")
def test_a_file_below_where_rules_go_is_refused_on_the_harness_that_reads_them_there():
    environment = define_environment("e", {"files": {"AGENTS.md/x": "f"}, "rules": "r"})

    graph_of(cell(environment, "claude-code"))
    with pytest.raises(DefinitionError) as caught:
        graph_of(cell(environment, "claude-code"), cell(environment, "codex"))

    assert caught.value.problems == (
        (
            'env.py: e@codex: files["AGENTS.md/x"] and rules cannot both be there: '
            '"AGENTS.md", from which codex reads rules, would be a file and a directory'
        ),
    )


def test_a_header_that_may_be_a_secret_is_warned_of_when_it_is_written_out():
    crm = mcp.http(
        "https://crm.example.com",
        headers={"X-Api-Key": "hunter2", "Accept": "text/html", "X-Token": secret.from_env("TOKEN")},
    )
    environment = define_environment("e", {"mcp": {"crm": crm}})

    graph = graph_of(cell(environment, "claude-code"), cell(environment, "cursor"))

    assert graph.warnings == (
        (
            'env.py: mcp.crm of the environment "e" has the header "X-Api-Key" as a literal string; '
            "pass secrets with secret.from_env(), so that they are redacted and never recorded"
        ),
    )


@pytest.mark.conforms("59", "60")
def test_a_workspace_counts_by_its_tree_and_not_by_commit_address_or_ref():
    here, there = git("https://a.example/x", ref="v1.0.0"), git("ssh://git@b.example/y", ref="main", path="sub")
    trees = {
        here.repo: ResolvedTree(tree="a" * 40, commit="1" * 40),
        there.repo: ResolvedTree(tree="a" * 40, commit="2" * 40, repository="/srv/y", warnings=("w",)),
    }

    graphs = [graph_of(one({"workspace": workspace, "setup": ["s"]}), workspaces=trees) for workspace in (here, there)]

    assert graphs[0].nodes.keys() == graphs[1].nodes.keys()
    assert [graph.cells[0].workspace for graph in graphs] == list(trees.values())


@pytest.mark.conforms("59")
def test_another_tree_or_init_is_another_workspace():
    initialised = {"workspace": git(WORKSPACE.repo, ref="v1.0.0", init=True)}

    assert not same({"workspace": WORKSPACE}, initialised, phase="workspace")
    assert not keys(one({"workspace": WORKSPACE}), phase="workspace") & keys(
        one({"workspace": WORKSPACE}),
        phase="workspace",
        workspaces={WORKSPACE.repo: ResolvedTree(tree="b" * 40, commit="1" * 40)},
    )


@pytest.mark.conforms("61")
def test_a_warning_about_a_ref_names_the_file_and_is_given_once():
    found = ResolvedTree(tree="a" * 40, commit="1" * 40, warnings=("results are not comparable over time",))
    environments = [define_environment(name, {"workspace": WORKSPACE}) for name in "ab"]

    graph = graph_of(*map(cell, environments), workspaces={WORKSPACE.repo: found})

    assert graph.warnings == ("env.py: results are not comparable over time",)


@pytest.mark.conforms("124", "fault 18")
def test_names_of_environments_and_layers_count_in_the_cell_and_nowhere_else():
    spec: EnvironmentSpec = {"workspace": WORKSPACE, "env": {"A": "1"}, "rules": "r", "setup": ["s", "t"]}
    whole = define_environment("whole", spec)
    split = define_environment("base", {**spec, "setup": ["s"]}).extend("whole", {"setup": ["t"]})
    renamed = define_environment("renamed", spec)

    graphs = [graph_of(cell(environment)) for environment in (whole, split, renamed)]

    assert graphs[0].nodes.keys() == graphs[1].nodes.keys() == graphs[2].nodes.keys()
    assert len({graph.cells[0].key for graph in graphs}) == 3


@pytest.mark.conforms("fault 12")
def test_names_that_begin_and_end_alike_are_different_cells_and_commands_different_nodes():
    def long(middle):
        return "n" * 80 + middle + "m" * 80

    one_cell, other_cell = (graph_of(one({}, name=long(middle))).cells[0] for middle in "ab")

    assert one_cell.key != other_cell.key
    assert not same({"setup": [long("a")]}, {"setup": [long("b")]}, phase="setup")


@pytest.mark.conforms("fault 8")
def test_environments_with_equal_files_share_them_and_are_cells_of_their_own():
    graph = graph_of(*(one({"files": {"a": "x"}, "env": {"A": name}}, name=name) for name in "ab"))

    assert len(nodes(graph, "files")) == 1
    assert len({planned.key for planned in graph.cells}) == 2
    assert [dict(planned.cell.merged.env) for planned in graph.cells] == [{"A": "a"}, {"A": "b"}]


def test_the_fake_sandbox_and_an_image_never_share_a_state():
    spec = {"workspace": WORKSPACE, "setup": ["s"]}

    graph = graph_of(
        one({**spec, "sandbox": fake_sandbox()}, name="a"), one({**spec, "sandbox": docker(from_="x")}, name="b")
    )

    assert len(nodes(graph, "workspace")) == 1
    assert all(len(nodes(graph, phase)) == 2 for phase in ("base", "root", "setup", "snapshot"))


@pytest.mark.conforms("40", "71", "fault 35")
@pytest.mark.parametrize(
    ("spec", "phase", "world"),
    [
        ({"sandbox": docker(from_="x:1")}, "base", {"bases": {"x:1": InfraError("no such image")}}),
        ({"workspace": WORKSPACE}, "workspace", {"workspaces": {WORKSPACE.repo: InfraError("no such ref")}}),
        ({"files": {"a": file("/a"), "b": "x"}}, "files", {"files": {"/a": InfraError("no such file")}}),
        ({"rules": file("/r")}, "rules", {"files": {"/r": InfraError("no such file")}}),
    ],
    ids=["image", "workspace", "file", "rules"],
)
def test_what_cannot_be_had_is_a_node_that_has_failed_and_concerns_only_its_cells(spec, phase, world):
    graph = graph_of(one({**spec, "setup": ["s"]}, name="broken"), one({"setup": ["s"]}, name="sound"), **world)

    broken, sound = graph.cells
    problems = {found.phase: str(found.problem) for found in graph.nodes.values() if found.problem is not None}
    assert list(problems) == [phase]
    assert problems[phase].startswith("no such")
    assert any(graph.nodes[recipe].problem for recipe in graph.above(broken.snapshot))
    assert not any(graph.nodes[recipe].problem for recipe in graph.above(sound.snapshot))


def test_a_broken_input_never_has_the_key_of_a_sound_one_nor_do_nodes_on_it():
    environment = one({"workspace": WORKSPACE, "setup": ["s"]})

    sound = keys(environment)
    broken = keys(environment, workspaces={WORKSPACE.repo: InfraError("no such ref")})

    assert len(sound & broken) == 1


def test_cells_that_fail_for_one_reason_share_the_failed_node():
    graph = graph_of(
        *(one({"workspace": WORKSPACE, "rules": name}, name=name) for name in "ab"),
        workspaces={WORKSPACE.repo: InfraError("no such ref")},
    )

    assert len(nodes(graph, "workspace")) == 1


@pytest.mark.parametrize(
    ("spec", "phase", "label"),
    [
        ({}, "base", "fake sandbox"),
        ({"sandbox": docker(from_="x:1")}, "base", "x:1"),
        ({"sandbox": docker(install=["apt-get  update\n && x"])}, "install", "apt-get update && x"),
        ({"workspace": git("github:o/r")}, "workspace", "github:o/r"),
        ({"workspace": git("github:o/r", ref="main", path="a/b")}, "workspace", "github:o/r@main:a/b"),
        ({"files": {"b": "", "a": ""}}, "files", "a, b"),
        ({"files": {"a": "", "b": "", "c": ""}}, "files", "3 files"),
        ({"rules": "r"}, "rules", "AGENTS.md"),
        ({}, "root", "empty workspace"),
        ({"rules": "r", "files": {"a": ""}, "workspace": git("github:o/r")}, "root", "workspace + files + rules"),
        ({"setup": ["a" * 100]}, "setup", "a" * 59 + "…"),
        ({"setup": ["a" * 60]}, "setup", "a" * 60),
        ({}, "snapshot", "e"),
    ],
)
def test_a_node_is_labelled_by_what_people_know_it_by(spec, phase, label):
    assert node(graph_of(one(spec)), phase).label == label


def test_files_are_placed_sorted_by_destination():
    work = node(graph_of(one({"files": {"~/a": "1", "b": "2", "a/b": "3"}})), "files").work

    assert isinstance(work, FilesWork)
    assert [placed.destination.text for placed in work.files] == ["~/a", "a/b", "b"]
    assert all(isinstance(placed, PlacedFile) for placed in work.files)


def test_a_thousand_steps_are_planned():
    graph = graph_of(one({"setup": [f"echo {at}" for at in range(1500)]}))

    (recipe,) = {planned.snapshot for planned in graph.cells}
    assert len(list(graph.above(recipe))) == len(graph.nodes) == 1503
    assert set(graph.cells_of.values()) == {("e@fake",)}
