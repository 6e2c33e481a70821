"""What `doctor` says of many runs at once."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli, write_model


def test_what_is_the_same_of_many_runs_is_one_line_with_their_number(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for number in range(5):
        write_model(root, f"maple-{number}", ["[f(x=1)]"], {})
    lines = [line for line in cli("doctor", root).out.splitlines() if "no dataset" in line]
    assert len(lines) == 1 and " and 4 more: no dataset" in lines[0]
    assert sum("no dataset" in fact["value"] for fact in cli("doctor", root, "--json").objects) == 5
