"""Checks `sandbox`, `workspace` and `egress`: what an environment runs in, on and from where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reeval_build.model.egress import POLICIES, AllowHosts, Egress
from reeval_build.model.helpers.sandboxes import DOCKER, FAKE
from reeval_build.model.helpers.workspaces import GIT
from reeval_build.model.options import host, many
from reeval_build.model.reading import Refused
from reeval_build.model.shown import got
from reeval_build.model.spec import DockerSandbox, FakeSandbox, GitWorkspace, Sandbox

if TYPE_CHECKING:
    from reeval_build.model.checks.definition import Definition

_hosts = many(host, "hosts")


def check_sandbox(value: object, definition: Definition) -> Sandbox | None:
    """`docker(…)`, `podman(…)`, `fake_sandbox(…)` or the dictionary of one."""
    match value:
        case DockerSandbox() | FakeSandbox():
            return value
        case {"kind": "docker", **options}:
            return definition.read("sandbox", DOCKER, options)
        case {"kind": "fake", **options}:
            return definition.read("sandbox", FAKE, options)
        case _:
            definition.add(
                f"sandbox in {definition.where} must come from a sandbox helper, "
                f"e.g. sandbox: docker({{ from: 'node:24-bookworm' }}) {got(value)}"
            )
            return None


def check_workspace(value: object, definition: Definition) -> GitWorkspace | None:
    """`git(…)` or the dictionary of one."""
    match value:
        case GitWorkspace():
            return value
        case {"kind": "git", "repo": repo, **options}:
            return definition.read("workspace", GIT, {"repo": repo, **options})
        case _:
            definition.add(
                f"workspace in {definition.where} must come from the git helper, "
                f"e.g. workspace: git('https://github.com/acme/app', {{ ref: 'v1.0.0' }}) {got(value)}"
            )
            return None


def check_egress(value: object, definition: Definition) -> Egress | None:
    """A policy, or hosts."""
    for policy in POLICIES:
        if isinstance(value, str) and value == policy:
            return policy
    match value:
        case AllowHosts():
            return value
        case {"allow": allow, **rest} if not rest:
            try:
                return AllowHosts(_hosts(allow, definition.site))
            except Refused as refused:
                definition.refuse("egress.allow", refused)
        case _:
            definition.add(
                f'egress in {definition.where} must be "proxy", "allow-all", "deny-all" '
                f"or {{ allow: hosts }} {got(value)}"
            )
    return None
