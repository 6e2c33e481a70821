"""Fixture for a workspace without a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.store.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / ".fcreview")
