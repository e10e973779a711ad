"""The files of the MCP servers of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from reeval_build.paths import Destination


def _frozen(value: Mapping[Destination, bytes]) -> Mapping[Destination, bytes]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class McpFiles:
    """The files of a harness's MCP servers, and the variables they refer to, which its process must have."""

    files: Mapping[Destination, bytes] = attrs.field(converter=_frozen)
    variables: tuple[str, ...] = ()
