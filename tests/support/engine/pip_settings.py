"""What a container's pip must know to reach the package index as this machine's pip does."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import Final

_LOCATIONS: Final = ("index-url", "extra-index-url")
_PLAIN: Final = ("trusted-host", "proxy", "default-timeout", "timeout", "retries")
_HEAD: Final = "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n"


def for_containers() -> str:
    """The text of a container's /etc/pip.conf."""
    done = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    settings = _effective(done.stdout)
    for name in _LOCATIONS:
        # An index on this machine's disk is not in the container.
        remote = [url for url in settings.pop(name, "").split() if url.startswith(("http://", "https://"))]
        if remote:
            settings[name] = " ".join(remote)
    lines = [f"{name} = {' '.join(value.split())}\n" for name, value in sorted(settings.items())]
    return _HEAD + "".join(lines)


def _effective(listing: str) -> dict[str, str]:
    """The settings for any command; those from environment variables win over those from files."""
    found: dict[str, dict[str, str]] = {"global": {}, ":env:": {}}
    for line in listing.splitlines():
        full_name, _, value = line.partition("=")
        section, _, name = full_name.partition(".")
        if section in found and name in {*_LOCATIONS, *_PLAIN}:
            found[section][name] = str(ast.literal_eval(value))
    return found["global"] | found[":env:"]
