"""What any engine reads of what commands did."""

from __future__ import annotations

import pytest

from reeval_build.errors import InfraError
from tests.contract.engine_bench import Bench, succeed

# Scripts, each run in a directory with these files, and what each changes there: None for what is gone.
_BEFORE = {"a": b"a", "s*": b"s", "d/f": b"f", "d/g": b"g"}
_SCRIPTS: dict[str, dict[bytes, str | None]] = {
    "true": {},
    "echo new > n": {b"n": "new\n"},
    "mkdir -p x/y; echo new > x/y/n": {b"x": "directory", b"x/y": "directory", b"x/y/n": "new\n"},
    "mkdir e": {b"e": "directory"},
    "echo more >> a": {b"a": "amore\n"},
    "printf b > a": {b"a": "b"},
    ": > a": {b"a": ""},
    "rm a": {b"a": None},
    "rm -r d": {b"d": None, b"d/f": None, b"d/g": None},
    "rm d/*": {b"d/f": None, b"d/g": None},
    "chmod +x a": {b"a": "executable a"},
    "chmod -x s": {b"s": "s"},
    "mv a z": {b"a": None, b"z": "a"},
    "mv d e": {b"d": None, b"d/f": None, b"d/g": None, b"e": "directory", b"e/f": "f", b"e/g": "g"},
    "mv a d/f": {b"a": None, b"d/f": "a"},
    "ln -s a l; ln -s /abs m; ln -s .. n": {b"l": "-> a", b"m": "-> /abs", b"n": "-> .."},
    "ln a b": {b"b": "a"},
    "rm a; mkdir a; echo x > a/x": {b"a": "directory", b"a/x": "x\n"},
    "rm -r d; echo file > d": {b"d": "file\n", b"d/f": None, b"d/g": None},
    "rm -r d; ln -s elsewhere d": {b"d": "-> elsewhere", b"d/f": None, b"d/g": None},
    "rm -r d; mkdir d; echo new > d/g": {b"d/f": None, b"d/g": "new\n"},
    "rm a; mkfifo a": {b"a": None},
    "touch a; touch d; touch d/f": {},
    "cp a t; rm a; mv t a": {},
    "echo x > a; printf a > a": {},
    "mkdir t; rmdir t": {},
    "mkdir -p .git; echo x > .git/config": {b".git": "directory", b".git/config": "x\n"},
}


class ChangeContract:
    """See `tests.contract.engine_suite`."""

    def test_what_a_command_did_to_the_workspace_is_what_is_read(self, bench: Bench):
        before = bench.workspace(
            {f"{at}/{name}": content for at in range(len(_SCRIPTS)) for name, content in _BEFORE.items()}
        )

        after = bench.step(before, "".join(f"(cd {at} && {script})\n" for at, script in enumerate(_SCRIPTS)))

        tree, same = bench.tree(after), bench.tree(bench.workspace(_BEFORE))
        for at, (script, changes) in enumerate(_SCRIPTS.items()):
            above = b"%d/" % at
            found = {path.removeprefix(above): what for path, what in tree.items() if path.startswith(above)}
            expected = {path: what for path, what in {**same, **changes}.items() if what is not None}
            assert found == expected, script

    @pytest.mark.parametrize(
        "instead",
        ["true", "echo file > workspace", "mkfifo workspace", "mkdir other; echo x > other/a; ln -s other workspace"],
    )
    def test_a_workspace_that_is_no_directory_any_more_has_nothing_in_it(self, bench: Bench, instead: str):
        before = bench.workspace({"a": b"a", "d/f": b"f"})

        after = bench.step(before, f"cd ..; rm -r workspace; {instead}")

        assert bench.tree(after) == {}
        again = bench.place(after, bench.engine.layout.workspace, {"b": b"b"}, replaces=True)
        assert bench.said(again, "ls") == "b\n"

    @pytest.mark.conforms("fault 9")
    def test_a_file_of_equal_size_and_restored_time_is_noticed(self, bench: Bench):
        before = bench.workspace({"a": b"one", "ref": b""})

        after = bench.step(before, "touch -r a ref; printf two > a; touch -r ref a")

        assert bench.tree(after)[b"a"] == "two"

    def test_a_command_that_did_nothing_leaves_the_tree_it_found(self, bench: Bench):
        before = bench.workspace({"a": b"a", "d/f": b"f"})

        assert bench.tree(bench.step(before, "ls -lR . > /dev/null; cat a > /dev/null")) == bench.tree(before)

    def test_any_name_is_kept_and_restored(self, bench: Bench):
        # As the shell's printf writes them.
        names = {
            r"a\012b": b"a\nb",
            r"\377\376": b"\xff\xfe",
            r"-rf": b"-rf",
            r" a  b ": b" a  b ",
            r"\303\251": b"\xc3\xa9",
            r"e\314\201": b"e\xcc\x81",
            r"*?[x]": b"*?[x]",
            r"\001\033[31m": b"\x01\x1b[31m",
            r"a\\b": b"a\\b",
            r"\042\047$x": b"\"'$x",
            r"...": b"...",
        }
        each = "".join(f"""n=$(printf '_{octal}'); do_it "${{n#_}}"\n""" for octal in names)

        made = bench.step(bench.workspace(), f"""do_it() {{ mkdir "./$1"; echo below > "./$1/$1"; }}\n{each}""")
        read = bench.said(made, f"""do_it() {{ cat "./$1/$1"; }}\n{each}""")
        removed = bench.step(made, f"""do_it() {{ rm "./$1/$1"; }}\n{each}""")

        below = {name + b"/" + name: "below\n" for name in names.values()}
        assert bench.tree(made) == dict.fromkeys(names.values(), "directory") | below
        assert read == "below\n" * len(names)
        assert bench.tree(removed) == dict.fromkeys(names.values(), "directory")

    def test_what_was_changed_can_be_read_again(self, bench: Bench):
        script = "echo x > n; ln n m; rm a; mkdir d; mkfifo d/p; ln -s n l; head -c 300000 /dev/zero > large"
        with bench.start(bench.workspace({"a": b"a"})) as sandbox, bench.objects.batch() as batch:
            succeed(sandbox, script)
            first, again = sandbox.capture(batch), sandbox.capture(batch)

        assert first == again != ()

    def test_a_name_of_255_bytes_is_kept(self, bench: Bench):
        name = "n" * 255

        assert bench.tree(bench.step(bench.workspace(), f"echo x > {name}")) == {name.encode(): "x\n"}

    @pytest.mark.conforms("fault 40")
    @pytest.mark.parametrize("path", [".wh.a", "d/.wh.b", ".wh..wh..opq"])
    def test_a_name_that_image_layers_use_is_refused_with_its_path(self, bench: Bench, path: str):
        with bench.start(bench.workspace()) as sandbox, bench.objects.batch() as batch:
            succeed(sandbox, f"mkdir d; echo x > {path}")
            with pytest.raises(InfraError, match=path.replace(".", r"\.")):
                sandbox.capture(batch)

    def test_large_and_empty_files_and_many_of_them_are_kept(self, bench: Bench):
        script = """
        i=0; while [ $i -lt 200 ]; do echo $i > f$i; i=$((i+1)); done
        : > empty
        echo "a line of a file that becomes large" > large
        i=0; while [ $i -lt 16 ]; do cat large large > larger; mv larger large; i=$((i+1)); done
        """
        look = "ls | wc -l; cksum < large; wc -c < large; cat f199 empty"
        state = bench.step(bench.workspace(), script)

        assert len(bench.tree(state)) == 202
        assert bench.said(state, look) == bench.said(bench.workspace(), script + look)
