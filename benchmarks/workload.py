"""A real project with two environments on two harnesses, and a Dockerfile that does the same work."""

from __future__ import annotations

from pathlib import Path

import attrs

from tests.support.real_project import make_repository

HARNESSES = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}
ENVIRONMENTS = ("base", "checked")
SETTINGS = "[settings]\nmode = test\n"
VARIABLE = ("APP_MODE", "test")
SETUP = (
    "python3 -m venv .venv && cp -r src/click .venv/lib/python3*/site-packages/",
    ".venv/bin/python -m compileall -q src tests examples",
)
CHECK = ".venv/bin/python -c 'import click; print(click.__file__)' >where.txt"


@attrs.frozen
class Workload:
    """A directory with the project, definitions and a Dockerfile. `salt` keeps it apart from every other one."""

    directory: Path
    image: str | None
    salt: str

    @property
    def install(self) -> str:
        """The command that is baked into the image."""
        return f"echo {self.salt} >/etc/installed-for-a-benchmark"

    def make(self) -> Workload:
        """Write all of it."""
        self.directory.mkdir(parents=True)
        make_repository(self.directory / "project")
        (self.directory / "settings.ini").write_text(SETTINGS)
        (self.directory / ".dockerignore").write_text("**/.git\nenvironments.py\nDockerfile\n")
        self.write_rules("Be brief.\n")
        self.write_definitions()
        return self

    def write_rules(self, text: str) -> None:
        """Edit the rules."""
        (self.directory / "rules.md").write_text(text)

    def write_definitions(self, *more: str) -> None:
        """Edit the definitions, ours and the Dockerfile: `checked` has the steps `more` at its end."""
        (self.directory / "environments.py").write_text(self._environments((CHECK, *more)))
        (self.directory / "Dockerfile").write_text(self._dockerfile((CHECK, *more)))

    def _environments(self, checks: tuple[str, ...]) -> str:
        base: dict[str, object] = {
            "env": dict([VARIABLE]),
            "files": {"conf/settings.ini": SETTINGS},
            "setup": list(SETUP),
        }
        sandbox = f"docker(from_={self.image!r}, install=[{self.install!r}])" if self.image else "fake_sandbox()"
        return (
            "from reeval_build import define_environment, docker, fake_sandbox, file, git\n\n"
            f'base = define_environment("base", {base!r} | {{"sandbox": {sandbox}, '
            '"workspace": git("./project"), "rules": file("rules.md")})\n'
            f'checked = base.extend("checked", {{"setup": {list(checks)!r}}})\n'
        )

    def _dockerfile(self, checks: tuple[str, ...]) -> str:
        stages = [f"FROM {self.image} AS installed\nRUN {self.install}\nWORKDIR /workspace\n"]
        for harness, rules in HARNESSES.items():
            steps = [f"RUN {step}\n" for step in (*SETUP, *checks)]
            stages += [
                f"FROM installed AS base-{harness}\n",
                "COPY project/ ./\nCOPY settings.ini conf/settings.ini\n",
                f"COPY rules.md {rules}\nENV {'='.join(VARIABLE)}\n",
                *steps[: len(SETUP)],
                f"FROM base-{harness} AS checked-{harness}\n",
                *steps[len(SETUP) :],
            ]
        return "".join(stages)
