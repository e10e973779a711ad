from __future__ import annotations

import pytest

from tests.unit.content.shelf import Shelf


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()
