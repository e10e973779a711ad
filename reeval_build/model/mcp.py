"""MCP servers that a harness is given when its session starts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import attrs

from reeval_build.model.secrets import Secret, SecretTemplate

HeaderValue: TypeAlias = str | Secret | SecretTemplate
VariableValue: TypeAlias = str | Secret


def _frozen_variables(value: Mapping[str, VariableValue]) -> Mapping[str, VariableValue]:
    return MappingProxyType(dict(value))


def _frozen_headers(value: Mapping[str, HeaderValue]) -> Mapping[str, HeaderValue]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class StdioServer:
    """A command of the sandbox that is spoken to on its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, VariableValue] = attrs.field(factory=dict, converter=_frozen_variables, hash=False)


@attrs.frozen(kw_only=True)
class RemoteServer:
    """A server over streamable HTTP, or over SSE."""

    transport: Literal["http", "sse"]
    url: str
    headers: Mapping[str, HeaderValue] = attrs.field(factory=dict, converter=_frozen_headers, hash=False)


McpServer: TypeAlias = StdioServer | RemoteServer
