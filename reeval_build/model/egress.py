"""Where a sandbox may connect."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import attrs

Policy: TypeAlias = Literal["proxy", "allow-all", "deny-all"]
POLICIES: Final[tuple[Policy, ...]] = ("proxy", "allow-all", "deny-all")


@attrs.frozen
class AllowHosts:
    """The automatic hosts and these; `*.example.com` is every subdomain."""

    hosts: tuple[str, ...]


Egress: TypeAlias = Policy | AllowHosts
