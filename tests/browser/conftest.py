from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chromium import Browser, chromium, open_browser
from tests.cli.conftest import (
    cli,
    environ,
    imported_run,
    imported_templates,
    module_cli,
    two_imported_runs,
)

__all__ = [
    "browser",
    "cli",
    "environ",
    "imported_run",
    "imported_templates",
    "module_cli",
    "two_imported_runs",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium: the page is not looked at in a browser")
    with open_browser(program, tmp_path_factory.mktemp("profile")) as found:
        yield found
