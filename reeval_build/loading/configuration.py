"""What the environment says that the project may say, too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from reeval_build.errors import PlanError
from reeval_build.model.platforms import is_platform
from reeval_build.model.sizes import size_bytes

if TYPE_CHECKING:
    from reeval_build.loading.project_file import ProjectSettings

BUDGET_VARIABLE: Final = "REEVAL_BUILD_BUDGET"
PLATFORM_VARIABLE: Final = "DOCKER_DEFAULT_PLATFORM"


def configured_budget(project: ProjectSettings) -> int | None:
    """How large the store may become: $REEVAL_BUILD_BUDGET, else what the project says.

    Raises:
        PlanError: when what is said there is not a size.
    """
    if text := os.environ.get(BUDGET_VARIABLE):
        size = size_bytes(text)
        if size is None:
            raise PlanError(f"${BUDGET_VARIABLE} is {text!r}, which is not a size such as 512m or 20G")
        return size
    return project.budget_bytes


def configured_platform(project: ProjectSettings) -> str | None:
    """What images are for: $DOCKER_DEFAULT_PLATFORM, else what the project says.

    Raises:
        PlanError: when what is said there is not a platform.
    """
    if text := os.environ.get(PLATFORM_VARIABLE):
        if not is_platform(text):
            raise PlanError(f"${PLATFORM_VARIABLE} is {text!r}, which is not a platform such as linux/arm64")
        return text
    return project.platform
