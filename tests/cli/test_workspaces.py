"""Git workspaces of the whole program: what is placed, what is recorded, and whom a failure concerns."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.digest import BLOB
from tests.sources.servers import git_over_http, make_certificate, tls_with
from tests.support.cli import ReevalBuild
from tests.support.index import flip_a_bit, objects
from tests.support.projects import Project, listing
from tests.support.records import cell_records
from tests.support.users import another_user

if TYPE_CHECKING:
    from tests.support.cli import Built

TOKEN: Final = "s3cret-t0ken"
POINTER: Final = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n"


def define(project: Project, *workspaces: str, path: str = "env.py") -> None:
    """An environment `e0`, `e1`, ... for each of these, and one that has no workspace."""
    project.define(
        'sandbox = {"sandbox": fake_sandbox()}\nnone = define_environment("none", sandbox)\n'
        + "".join(
            f'e{number} = define_environment("e{number}", {{**sandbox, "workspace": {workspace}}})\n'
            for number, workspace in enumerate(workspaces)
        ),
        path=path,
    )


def statuses(built: Built) -> dict[str, str]:
    return {cell["environment"]: cell["status"] for cell in built.value["cells"]}


@pytest.mark.conforms("58", "123")
def test_a_branch_that_moves_during_a_run_is_one_commit_for_all_its_cells(
    project: Project, reeval: ReevalBuild
) -> None:
    app = project.repository("served/app", {"a/x": "0", "b/x": "0"})
    commits = [app.commit()]
    with git_over_http(project.directory / "served") as server:
        server.before_each = lambda: commits.append(app.commit({"a/x": f"{len(commits)}", "b/x": f"{len(commits)}"}))
        url = f'"{server.url}/app", ref="main"'
        define(
            project, f'git({url}, path="a")', f'git({url}, path="b")', f'git({url}, path="a", init=True)', f"git({url})"
        )

        built = reeval.build()

    records = cell_records(built, reeval.store)
    found = [records[f"e{number}@fake"].workspace for number in range(4)]
    (commit,) = {workspace.commit for workspace in found if workspace is not None}
    assert commit in commits
    assert [None if one is None else one.tree for one in found] == [
        app.git("rev-parse", f"{commit}:{path}").strip() for path in ("a", "b", "a", "")
    ]


@pytest.mark.conforms("59", "60", "123")
def test_equal_trees_of_other_commits_and_urls_are_one_workspace_with_records_of_their_own(
    project: Project, reeval: ReevalBuild
) -> None:
    app = project.repository("served/app", {"pkg/main.txt": "main\n", "other": "1"})
    first = app.commit()
    second = app.commit({"other": "2"})
    with git_over_http(project.directory / "served") as server:
        define(
            project,
            f'git("served/app", ref="{first}", path="pkg")',
            f'git("served/app", ref="{second}", path="pkg")',
            f'git("{server.url}/app", ref="{second}", path="pkg")',
        )

        built = reeval.build()

    assert built.phases("ran").count("workspace") == 1
    assert len({built.snapshots[f"e{number}@fake"] for number in range(3)}) == 1
    records = cell_records(built, reeval.store)
    found = [records[f"e{number}@fake"].workspace for number in range(3)]
    assert [(one.repo, one.commit) for one in found if one is not None] == [
        ("served/app", first),
        ("served/app", second),
        (f"{server.url}/app", second),
    ]


@pytest.mark.conforms("61")
def test_a_ref_that_may_move_is_warned_of_and_a_commit_or_a_version_is_not(
    project: Project, reeval: ReevalBuild
) -> None:
    app = project.repository("app", {"main.txt": "main\n"})
    app.git("tag", "v1.2.0")
    pinned = app.git("rev-parse", "HEAD").strip()
    define(project, 'git("app")', 'git("app", ref="main")', 'git("app", ref="v1.2.0")', f'git("app", ref="{pinned}")')

    built = reeval.build()

    said = "results are not comparable over time; uncommitted changes are not included"
    head = f'env.py: git("app") has no ref, so it is whatever HEAD is now: {said}'
    branch = f'env.py: git("app") has the ref "main", neither a full commit id nor a version tag: {said}'
    assert sorted(built.messages) == sorted([f"reeval: warning: {branch}", f"reeval: warning: {head}"])
    warnings = {name: record.warnings for name, record in cell_records(built, reeval.store).items()}
    assert warnings == {"none@fake": (), "e0@fake": (head,), "e1@fake": (branch,), "e2@fake": (), "e3@fake": ()}


@pytest.mark.conforms("62", "66", "67", "68")
def test_a_workspace_has_the_bytes_of_the_commit_whatever_git_would_make_of_them(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository("app", {"beside": "not in the workspace"})
    attributes = "gone export-ignore\nversion export-subst\n*.txt text eol=crlf\n*.bin filter=lfs\n*.id ident\n"
    files: dict[str, str | bytes] = {
        ".gitattributes": attributes,
        "gone": "kept\n",
        "version": "$Format:%H$\n",
        "lines.txt": "one\ntwo\n",
        "large.bin": POINTER,
        "x.id": "$Id$\n",
        "plain": "",
    }
    app.commit({f"pkg/{path}": content for path, content in files.items()})
    app.write("pkg/run.sh", "#!/bin/sh\n", executable=True)
    (app.directory / "pkg" / "link").symlink_to("run.sh")
    app.git("add", "--all")
    app.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},pkg/module")
    app.git("commit", "--quiet", "--message", "more")
    project.write(
        "home/.gitconfig",
        f'[core]\nautocrlf = true\n[filter "lfs"]\nsmudge = touch {tmp_path}/smudged; cat\nrequired = true\n',
    )
    define(project, 'git("app", path="pkg")')
    reeval.env = {"HOME": str(project.directory / "home")}

    workspace = reeval.copied("e0@fake", tmp_path / "copy") / "workspace"

    assert listing(workspace) == sorted([*files, "link", "module", "run.sh"])
    assert {path: (workspace / path).read_bytes() for path in files} == {
        path: content if isinstance(content, bytes) else content.encode() for path, content in files.items()
    }
    assert (workspace / "link").readlink() == Path("run.sh")
    assert {path: (workspace / path).stat().st_mode & 0o7777 for path in ("run.sh", "plain")} == {
        "run.sh": 0o755,
        "plain": 0o644,
    }
    assert listing(workspace / "module") == []
    assert not (tmp_path / "smudged").exists()


@pytest.mark.conforms("64", "65")
def test_the_git_directory_is_the_same_bytes_in_every_build(project: Project, tmp_path: Path) -> None:
    app = project.repository("app", {"main.txt": "main\n", "d/e": "e\n"})
    define(project, 'git("app", init=True)', 'git("app")')
    found = []
    for number, umask in enumerate((0o022, 0o077)):
        reeval = ReevalBuild(project.directory, tmp_path / f"store-{number}")
        copy = reeval.copied("e0@fake", tmp_path / f"copy-{number}", umask=umask) / "workspace"
        paths = [path for path in sorted(copy.rglob("*")) if path.is_file()]
        found.append({str(path.relative_to(copy)): (path.stat().st_mode, path.read_bytes()) for path in paths})
        app.commit()

    assert found[0] == found[1]
    assert ".git/HEAD" in found[0]
    assert reeval("run", "e1@fake", "--", "ls", "-A").stdout.startswith("d\nmain.txt\ne1@fake")


@pytest.mark.conforms("fault 41")
def test_a_repository_of_another_user_is_built_by_one_and_compared_by_a_third(project: Project, tmp_path: Path) -> None:
    app = project.repository("app", {"main.txt": "main\n", ".gitignore": "*.log\n"})
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository to another user")
    for path in [app.directory, *app.directory.rglob("*")]:
        os.chown(path, 4321, 4321, follow_symlinks=False)
    define(project, 'git("app", init=True)')
    ReevalBuild(project.directory, tmp_path / "store").build()

    third = ReevalBuild(project.directory, tmp_path / "store", prefix=another_user())
    done = third("run", "e0@fake", "--", "sh", "-c", "git status --porcelain; echo x > new; echo x > a.log")

    assert done.stdout == "e0@fake: 1 changed since the snapshot\n  added    new\n"


@pytest.mark.conforms("68")
@pytest.mark.parametrize("target", ["../../outside", "/etc", "{outside}"])
def test_a_link_out_of_the_workspace_fails_its_cells_and_nothing_is_written_through_it(
    project: Project, reeval: ReevalBuild, tmp_path: Path, target: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    app = project.repository("app", {"main.txt": "main\n", "deep/file": ""})
    (app.directory / "deep" / "out").symlink_to(target.format(outside=outside))
    app.commit()
    project.define(
        """
        bad = define_environment("bad", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "files": {"deep/out/written": "escaped"},
        })
        good = define_environment("good", {"sandbox": fake_sandbox()})
        """
    )

    built = reeval.build(code=3)

    (message,) = [line for line in built.messages if "bad@fake" in line]
    assert 'git("app") has "deep/out", which ' in message
    assert statuses(built) == {"bad": "failed", "good": "ran"}
    assert listing(outside) == []


@pytest.mark.conforms("68")
def test_a_file_is_placed_in_the_stead_of_a_link_and_never_through_it(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository("app", {"real/file": "the repository's\n"})
    (app.directory / "link").symlink_to("real")
    (app.directory / "other").symlink_to("real/file")
    app.commit()
    project.define(
        """
        through = define_environment("through", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "files": {"link/file": "through"},
        })
        over = define_environment("over", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "files": {"other": "over"},
        })
        """
    )

    built = reeval.build(code=3)

    assert statuses(built) == {"through": "failed", "over": "ran"}
    workspace = reeval.copied("env.py::over@fake", tmp_path / "copy") / "workspace"
    assert not (workspace / "other").is_symlink()
    assert (workspace / "other").read_text() == "over"
    assert (workspace / "real" / "file").read_text() == "the repository's\n"


@pytest.mark.conforms("70", "58")
def test_a_token_opens_the_repository_and_is_written_nowhere(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository("served/app", {"main.txt": "main\n"})
    certificate = make_certificate(tmp_path)
    git = shutil.which("git")
    spy = project.write("bin/git", f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexec {git} "$@"\n', executable=True)
    path = f"{spy.parent}{os.pathsep}{os.environ['PATH']}"
    reeval.env = {"APP_TOKEN": TOKEN, "SSL_CERT_FILE": str(certificate), "PATH": path}
    with git_over_http(project.directory / "served", TOKEN, tls_with(certificate)) as server:
        url = f"{server.url}/private/app"
        define(project, f'git("{url}", ref="main", token="APP_TOKEN", init=True)')

        built = reeval.build()
        ran = reeval("run", "e0@fake", "--", "sh", "-c", "env; cat .git/config; touch new")

    assert server.seen != []
    record = cell_records(built, reeval.store)["e0@fake"].workspace
    assert record is not None
    assert record.commit == app.git("rev-parse", "HEAD").strip()
    said = built.stdout + built.stderr + ran.stdout + ran.stderr
    assert TOKEN not in said
    assert "new" in ran.stdout
    assert TOKEN not in "".join(server.requests)
    written = [tmp_path / "asked", *(path for path in reeval.store.rglob("*") if path.is_file())]
    assert [path for path in written if TOKEN.encode() in path.read_bytes()] == []


@pytest.mark.conforms("71", "70", "exit 3")
def test_what_cannot_be_fetched_fails_its_cells_and_no_other(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    app = project.repository("served/app", {"main.txt": "main\n"})
    pinned = app.git("rev-parse", "HEAD").strip()
    with git_over_http(project.directory / "served", TOKEN) as server:
        define(
            project,
            f'git("{server.url}/app", ref="{pinned}")',
            f'git("{server.url}/nope", ref="{pinned}")',
            f'git("{server.url}/private/app", ref="{pinned}")',
            f'git("{server.url}/status/500", ref="{pinned}")',
            f'git("https://127.0.0.1:9/app", ref="{pinned}", token="NOT_SET")',
            f'git("https://127.0.0.1:9/app", ref="{pinned}")',
        )

        built = reeval.build(code=3)

    assert statuses(built) == {"none": "ran", "e0": "ran", **dict.fromkeys(("e1", "e2", "e3", "e4", "e5"), "failed")}
    by_cell = {line.split(": ")[2]: line.split(": ", 3)[3] for line in built.messages}
    assert by_cell["e1@fake"].startswith(f'git("{server.url}/nope") is not there')
    assert by_cell["e2@fake"].startswith(f'git("{server.url}/private/app") refuses access')
    assert by_cell["e3@fake"].startswith(f'git("{server.url}/status/500") cannot be reached')
    assert "takes its token from the host variable NOT_SET, which is not set or empty" in by_cell["e4@fake"]
    assert by_cell["e5@fake"].startswith('git("https://127.0.0.1:9/app") cannot be reached')


@pytest.mark.conforms("71")
def test_a_broken_repository_is_no_trouble_to_a_cell_whose_repository_has_the_same_tree(
    project: Project, reeval: ReevalBuild
) -> None:
    files: dict[str, str | bytes] = {"main.txt": "main\n"}
    broken, sound = project.repository("broken", files), project.repository("sound", files)
    blob = broken.git("rev-parse", "HEAD:main.txt").strip()
    lost = broken.directory / ".git" / "objects" / blob[:2] / blob[2:]
    lost.unlink()
    define(project, 'git("broken", ref="main")', 'git("sound", ref="main")')

    assert statuses(reeval.build()) == {"none": "ran", "e0": "ran", "e1": "ran"}

    shutil.rmtree(reeval.store)
    (sound.directory / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    built = reeval.build(code=3)
    assert statuses(built) == {"none": "ran", "e0": "failed", "e1": "failed"}
    assert any(f'git("broken") needs the git object {blob}' in line for line in built.messages)


@pytest.mark.conforms("72")
def test_short_forms_and_tree_urls_are_written_down_as_what_is_fetched(project: Project, reeval: ReevalBuild) -> None:
    define(project, 'git("github:acme/app")', 'git("https://github.com/acme/app/tree/v1.2.0/packages/web")')
    reeval.names_store = False

    tree = json.loads(reeval("export").stdout)

    specs = [child["options"]["environment"]["layers"][0]["spec"] for child in tree["children"]]
    assert [spec["workspace"] for spec in specs if "workspace" in spec] == [
        {"kind": "git", "repo": "github:acme/app", "url": "https://github.com/acme/app.git"},
        {
            "kind": "git",
            "repo": "https://github.com/acme/app/tree/v1.2.0/packages/web",
            "url": "https://github.com/acme/app.git",
            "ref": "v1.2.0",
            "path": "packages/web",
        },
    ]


def test_of_another_commit_only_the_directories_that_differ_are_read(project: Project, reeval: ReevalBuild) -> None:
    app = project.repository("app", {"same/deep/file": "same\n", "other/file": "one\n"})
    define(project, 'git("app")')
    reeval.build()
    app.commit({"other/file": "two\n"})
    # Nothing of it can be read any more.
    blob = app.git("rev-parse", "HEAD:same/deep/file").strip()
    (app.directory / ".git/objects" / blob[:2] / blob[2:]).unlink()

    done = reeval("run", "e0@fake", "--", "cat", "same/deep/file", "other/file")

    assert done.stdout.startswith("same\ntwo\n")


@pytest.mark.conforms("fault 22")
@pytest.mark.parametrize("lost", [b"same\n", b"one\n"])
def test_what_the_store_lost_of_a_directory_that_did_not_change_is_read_again(
    project: Project, reeval: ReevalBuild, lost: bytes
) -> None:
    app = project.repository("app", {"same/deep/file": b"same\n", "other/file": b"one\n"})
    define(project, 'git("app")')
    reeval.build()
    app.commit({"new": "two\n"})
    (kept,) = [one for one in objects(reeval.store) if one.digest == BLOB.digest(lost).raw]
    flip_a_bit(kept, reeval.store)

    done = reeval("run", "e0@fake", "--", "cat", "same/deep/file", "other/file", "new")

    assert done.stdout.startswith("same\none\ntwo\n")
    assert any("what it belonged to is built again" in message for message in done.messages)


def test_a_link_that_leads_out_of_the_tree_is_refused_wherever_its_directory_was_before(
    project: Project, reeval: ReevalBuild
) -> None:
    app = project.repository("app", {"a/b/file": ""})
    (app.directory / "a/b/link").symlink_to("../../file")
    app.commit({})
    define(project, 'git("app")')
    reeval.build()
    app.git("mv", "a/b", "c")
    app.commit({})

    (message,) = [line for line in reeval.build(code=3).messages if "warning" not in line]

    assert "c/link" in message
