"""Where containers have the workspace and the home directory."""

from __future__ import annotations

from typing import Final

from reeval_build.state.state import Layout

WORKSPACE: Final = "/workspace"
HOME: Final = "/root"
LAYOUT: Final = Layout(workspace=(WORKSPACE.strip("/").encode(),), home=(HOME.strip("/").encode(),))
