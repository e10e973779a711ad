"""Definitions that mypy accepts: everything an author may write."""

from datetime import timedelta

from reeval_build import (
    DEFAULT_DIRECTORY_IGNORES,
    DEFAULT_EGRESS_ALLOW,
    DEFAULT_SKILL_EXCLUDE,
    Environment,
    EnvironmentSpec,
    Helpers,
    SetupStepSpec,
    claude_code,
    cursor,
    define_environment,
    directory,
    docker,
    fake_harness,
    fake_sandbox,
    file,
    git,
    mcp,
    opencode,
    plugin,
    podman,
    secret,
    skill,
    step,
)

base = define_environment(
    "base",
    {
        "sandbox": docker(
            from_="node:24-bookworm",
            install=["apt-get update", {"run": "npm i -g pnpm@9", "timeout": "10m"}],
            cpus=2,
            memory="4g",
            root=True,
        ),
        "workspace": git("github:acme/app", ref="v1.0.0", path="packages/api", init=True, token="GIT_TOKEN"),
        "env": {
            "NODE_ENV": "test",
            "NPM_TOKEN": secret(hosts=["registry.example.com"]),
            "GITHUB_TOKEN": secret.from_env("GH", hosts=secret.hosts.github, in_=["header", "query"], optional=True),
        },
        "files": {
            **directory("./fixtures", to="src", include=["*.ts", "!gen/"], ignore=False),
            "src/agent.ts": file("./agent.ts"),
            "~/.npmrc": "fund=false\n",
        },
        "rules": file("./rules.md"),
        "setup": [
            "npm ci",
            {"run": "npm test", "timeout": 90, "cwd": "packages/app"},
            {"run": "npm test", "timeout": timedelta(minutes=5)},
            step("npm ci", inputs=["package.json", "package-lock.json"], timeout="10m", cwd="."),
        ],
        "skills": [
            skill.local("./skills", only=["a"], exclude=[*DEFAULT_SKILL_EXCLUDE, "*.bak"]),
            skill.git("github:acme/skills", ref="v1.0.0", placement="workspace"),
            skill.npm("@acme/skills@1.0.0"),
            skill.registry("acme/skills@tabs", version="v1.0.0"),
            skill.inline(name="tabs", description="Use tabs.", content="# Tabs\n", files={"a.md": "b"}),
        ],
        "plugins": [
            plugin.local("./plugins/review", only=["skills", "mcp"], build=["npm ci", "npm run build"]),
            plugin.git("github:acme/lint", path="plugin", build={"run": "make", "cwd": "."}),
            plugin.npm("@acme/p@1.0.0", build="make"),
            plugin.marketplace("fmt@github:acme/agent-plugins", ref="v1.0.0"),
        ],
        "mcp": {
            "docs": mcp.stdio("npx", ["-y", "server"], env={"A": "1", "B": secret()}),
            "crm": mcp.http("https://crm.example.com", headers={"Authorization": secret.template("Bearer ${T}")}),
            "old": mcp.sse("https://old.example.com"),
        },
        "egress": {"allow": [*DEFAULT_EGRESS_ALLOW, "*.example.com"]},
    },
)

child: Environment = base.extend("child", lambda helpers: {"rules": helpers.file("r.md"), "setup": ["make"]})


def spec(helpers: Helpers) -> EnvironmentSpec:
    return {"skills": [helpers.skill.local("s")], "workspace": helpers.git("../app"), "egress": "deny-all"}


with_callback = define_environment("callback", spec).extend_environment("more", {"sandbox": fake_sandbox(dir="x")})

as_data = define_environment(
    "data",
    {
        "sandbox": {"kind": "docker", "from": "node:24", "maxConcurrent": 2},
        "workspace": {"kind": "git", "repo": "github:acme/app"},
        "env": {"A": {"kind": "secret", "from": "B", "in": ["header"], "hosts": ["h"]}},
        "files": {"a": {"kind": "file", "path": "./a"}},
        "skills": [{"kind": "skill", "source": "local", "path": "./s"}],
        "plugins": [
            {
                "kind": "plugin",
                "source": "marketplace",
                "name": "fmt",
                "marketplace": {"source": "npm", "spec": "@acme/plugins@2.0.0"},
            }
        ],
        "mcp": {"docs": {"kind": "mcp", "transport": "stdio", "command": "npx", "args": [], "env": {}}},
        "egress": {"allow": ["a.example.com"]},
    },
)

common: EnvironmentSpec = {"env": {"A": "1"}}
one_step: SetupStepSpec = {"run": "make", "timeout": "5m"}
define_environment("spread", {**common, "setup": [one_step]})
define_environment("podman", {"sandbox": podman(from_="x", engine="podman")})
harnesses = [
    claude_code(model="sonnet", effort="max", gateway="vercel"),
    cursor(model="composer-2.5", params={"fast": "true"}),
    opencode(model="anthropic/claude", effort="high", id="mine", max_concurrent=3, start_timeout=timedelta(minutes=1)),
    fake_harness(layout="claude-code", text="Done.", delay_ms=5),
]
ignores: tuple[str, ...] = DEFAULT_DIRECTORY_IGNORES
