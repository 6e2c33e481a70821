"""`fcreview report --group` summarizes repeated runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.run_groups import remove_repeat_number
from tests.commands import Done
from tests.incidents import generic_record, write_generic_run

Cli = Callable[..., Done]
PASSES = {
    "maple-run1": "PPPPFF",
    "maple-run2": "PPPFPF",
    "maple-run3": "PPFFFF",
    "oak-run1": "PFFFFF",
    "oak-run2": "FFFFFF",
}


@pytest.fixture
def repeated_runs(tmp_path: Path) -> Path:
    """A folder with three runs of `maple` and two of `oak`."""
    folder = tmp_path / "runs"
    for model, letters in PASSES.items():
        records = [
            generic_record(f"weather_{at}", passes=letter == "P")
            for at, letter in enumerate(letters)
        ]
        write_generic_run(folder, records, model)
    return folder


def test_groups_by_name_have_mean_spread_and_pass_k(cli: Cli, repeated_runs: Path) -> None:
    done = cli("report", repeated_runs, "--group", "name", "--json")
    assert done.code == 0, done.err
    maple, oak = done.objects
    assert (maple["group"], oak["group"]) == ("maple", "oak")
    assert maple["values"] == pytest.approx([4 / 6, 4 / 6, 2 / 6])
    assert maple["spread"] == pytest.approx((1 / 27) ** 0.5)
    figures = {figure["figure"]: figure["value"] for figure in maple["figures"]}
    assert figures["mean"] == pytest.approx(10 / 18)
    assert figures["pass^3"] == pytest.approx(2 / 6) and figures["pass@3"] == pytest.approx(5 / 6)
    assert maple["versus"] is None and maple["unstable"] == 3
    assert oak["versus"]["group"] == "maple"
    assert oak["versus"]["difference"] == pytest.approx(1 / 12 - 10 / 18)
    assert 0 < oak["versus"]["p"] <= 1 and oak["versus"]["questions"] == 6


def test_table_names_the_runs_of_each_group(cli: Cli, repeated_runs: Path) -> None:
    text = cli("report", repeated_runs, "--group", "name").out
    assert "maple · 3 runs, 6 questions, 0 left out, 3 unstable" in text
    assert "from 33.3 to 66.7" in text and "versus maple" in text
    for run in PASSES:
        assert run in text


def test_groups_by_model_keep_models_apart(cli: Cli, repeated_runs: Path) -> None:
    lines = cli("report", repeated_runs, "--group", "model", "--json", "--run", "oak-run1").objects
    assert [line["group"] for line in lines] == ["oak-run1"]
    assert lines[0]["spread"] is None
    assert len(cli("report", repeated_runs, "--group", "model", "--json").objects) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--group", "colour"), "choose model, name"),
        (("--group", "model", "--ranking"), "print one table or JSON"),
        (("--group", "model", "--markdown"), "print one table or JSON"),
    ],
)
def test_wrong_options_are_refused(
    cli: Cli, repeated_runs: Path, options: tuple[str, ...], message: str
) -> None:
    done = cli("report", repeated_runs, *options)
    assert done.code == 2 and message in done.err


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("maple-run2", "maple"),
        ("maple_seed_13", "maple"),
        ("maple · trial 4", "maple"),
        ("gpt-4", "gpt-4"),
        ("llama-3-8b", "llama-3-8b"),
        ("run2", "run2"),
    ],
)
def test_only_numbers_of_repeats_are_removed(name: str, expected: Any) -> None:
    assert remove_repeat_number(name) == expected
