"""Checks what an author wrote, field by field, in the words of reeval's documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reeval_build.model.checks.content import check_env, check_files, check_rules
from reeval_build.model.checks.machines import check_egress, check_sandbox, check_workspace
from reeval_build.model.checks.offers import check_mcp, check_plugins, check_skills
from reeval_build.model.checks.setup import check_setup
from reeval_build.model.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.model.checks.definition import Definition

_IMAGE_FIELDS: Final = ("image", "from", "from_", "dockerfile", "install")
_NEAR_MISSES: Final = {
    "steps": "setup",
    "exec": "setup",
    "run": "setup",
    "vars": "env",
    "secrets": "env",
    "network": "egress",
    "networkPolicy": "egress",
    "skill": "skills",
    "plugin": "plugins",
    "file": "files",
    "agents": "rules",
    "use": "extend",
    "repo": "workspace",
    "git": "workspace",
    "template": "workspace",
}


def check_fields(fields: Mapping[Any, Any], definition: Definition) -> Spec:
    """What of `fields` is right.

    Every mistake is added to `definition`, in a fixed order: image fields, unknown fields, then the fields by name.
    """
    for field in sorted(fields, key=lambda field: field not in _IMAGE_FIELDS):
        _check_field_name(field, fields[field], definition)
    return Spec(**{field: check(fields[field], definition) for field, check in _CHECKS.items() if field in fields})


def _check_field_name(field: object, value: object, definition: Definition) -> None:
    if field in _IMAGE_FIELDS:
        option = "from" if field == "from_" or (field == "image" and isinstance(value, str)) else field
        definition.add(
            f'"{field}" isn\'t an environment field ({definition.where}). '
            f"Put the image on the sandbox: sandbox: docker({{ {option}: … }})."
        )
    elif field not in _CHECKS:
        hint = f' Did you mean "{_NEAR_MISSES[field]}"?' if field in _NEAR_MISSES else ""
        definition.add(f'Unknown field "{field}" in {definition.where}.{hint}')


_CHECKS: Final[dict[str, Callable[[Any, Definition], Any]]] = {
    "egress": check_egress,
    "env": check_env,
    "files": check_files,
    "mcp": check_mcp,
    "plugins": check_plugins,
    "rules": check_rules,
    "sandbox": check_sandbox,
    "setup": check_setup,
    "skills": check_skills,
    "workspace": check_workspace,
}
