"""What a container's pip must know to reach the package index as this machine's pip does."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

_LOCATIONS: Final = ("index-url", "extra-index-url")
_PLAIN: Final = ("trusted-host", "proxy", "default-timeout", "timeout", "retries")
_SYSTEM_BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")


def for_containers() -> str:
    """The text of a container's /etc/pip.conf; it names the certificates that Debian's programs use too."""
    lines = ["[global]", f"cert = {_SYSTEM_BUNDLE}"]
    settings = _settings()
    lines += [f"{name} = {settings[name]}" for name in _PLAIN if name in settings]
    for name in _LOCATIONS:
        # An index on this machine's disk is not in the container.
        remote = [url for url in settings.get(name, "").split() if url.startswith(("http://", "https://"))]
        if remote:
            lines.append(f"{name} = {' '.join(remote)}")
    return "\n".join([*lines, ""])


def certificates() -> bytes:
    """The certificates that this machine's pip trusts, or none when it goes by its own."""
    chosen = Path(_settings().get("cert", _SYSTEM_BUNDLE))
    return chosen.read_bytes() if chosen.is_file() else b""


@cache
def _settings() -> dict[str, str]:
    """What pip is told for any command; environment variables win over files."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found: dict[str, dict[str, str]] = {"global": {}, ":env:": {}}
    for line in listing.splitlines():
        full_name, _, value = line.partition("=")
        section, _, name = full_name.partition(".")
        if section in found:
            found[section][name] = " ".join(str(ast.literal_eval(value)).split())
    return found["global"] | found[":env:"]
