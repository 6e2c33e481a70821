"""`fcreview calibrate` compares automatic verdicts with reviews and gives a filter for each
cell.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def reviewed_run(
    module_cli: Cli, imported_templates: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Six items, of which 0 passes officially.

    The reviews pass 0 and 1, fail 2, and disagree on 3.
    """
    labels = (
        (0, "ann", "pass"),
        (1, "ann", "pass"),
        (2, "ann", "fail"),
        (3, "ann", "pass"),
        (3, "bob", "fail"),
    )
    run = shutil.copytree(imported_templates / "one", tmp_path_factory.mktemp("reviewed") / "runs")
    for at, who, verdict in labels:
        done = module_cli(
            "label", run, f"simple_python_{at}", "--verdict", verdict, "--annotator", who
        )
        assert done.code == 0, done.err
    return run


@pytest.fixture
def reviewed(reviewed_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(reviewed_run, tmp_path / "reviewed")


@pytest.mark.sweep
def test_confusion_matrix_figures_and_kinds(cli: Cli, reviewed: Path) -> None:
    found = cli("calibrate", reviewed, "--json").objects
    (official,) = (
        each
        for each in found
        if each["kind"] == "calibration"
        and (each["scope"], each["source"]) == ("overall", "official")
    )
    assert official["n"] == 3 and official["n_random"] == 0 and official["chosen"] == "by hand"
    assert [(cell["said"], cell["settled"], cell["n"]) for cell in official["cells"]] == [
        (True, True, 1),
        (False, False, 1),
        (False, True, 1),
    ]
    rates = {rate["metric"]: rate for rate in official["rates"]}
    assert (
        rates["tpr"]["value"] == 0.5
        and rates["tnr"]["value"] == 1.0
        and rates["tpr"]["interval"] == "wilson"
    )
    assert rates["kappa"]["value"] == pytest.approx(0.4)
    wrong = [each for each in found if each["kind"] == "wrong" and each["source"] == "official"]
    assert {(each["by"], each["name"], each["wrong"], each["of"]) for each in wrong} >= {
        ("error", "value_error:string", 1, 2),
        ("category", "simple_python", 1, 2),
    }


@pytest.mark.sweep
def test_filter_of_each_cell_selects_its_items(cli: Cli, reviewed: Path) -> None:
    found = cli("calibrate", reviewed, "--json").objects
    cells = [cell for each in found for cell in each.get("cells", [])]
    wrong = [
        {"n": each["wrong"], "where": each["where"]} for each in found if each["kind"] == "wrong"
    ]
    assert len(cells) > 5 and wrong
    for cell in [*cells, *wrong]:
        items = cli("items", reviewed, "--where", cell["where"], "--json").objects
        assert len(items) == cell["n"], cell


@pytest.mark.sweep
def test_filter_of_cell_includes_where_option(cli: Cli, reviewed: Path) -> None:
    found = cli(
        "calibrate", reviewed, "--where", "id:simple_python_1 OR id:simple_python_2", "--json"
    ).objects
    cell = next(
        cell for cell in found[0]["cells"] if cell["said"] is False and cell["settled"] is True
    )
    assert [
        item["id"] for item in cli("items", reviewed, "--where", cell["where"], "--json").objects
    ] == ["simple_python_1"]


@pytest.mark.sweep
def test_policy_decides_effective_reviews(cli: Cli, reviewed: Path) -> None:
    cli("label", reviewed, "simple_python_3", "--verdict", "fail", "--annotator", "eve")
    n = [
        cli("calibrate", reviewed, "--by", "overall", "--policy", policy, "--json").objects[0]["n"]
        for policy in ("unanimous", "majority")
    ]
    assert n == [3, 4]


@pytest.mark.sweep
def test_text_shows_item_selection(cli: Cli, reviewed: Path, imported_run: Path) -> None:
    done = cli("calibrate", reviewed)
    assert "0 of them in a random sample" in done.out and "queue create" in done.out
    assert "official:fail human:pass" in done.out


@pytest.mark.sweep
def test_labels_on_sampled_items_count_as_random(cli: Cli, imported_run: Path) -> None:
    """As in `estimate`."""
    options = ("--name", "pilot", "--size", "3", "--annotators", "ann")
    assert cli("queue", "create", imported_run, *options).code == 0
    items = [
        each["id"] for each in cli("queue", "show", imported_run, "pilot", "--json").objects[1:]
    ]
    chosen = []
    for item in items:
        assert cli("label", imported_run, item, "--verdict", "pass", "--annotator", "ann").code == 0
        found = cli("calibrate", imported_run, "--by", "overall", "--json").objects[0]
        chosen.append((found["chosen"], found["n_random"]))
    assert chosen == [("random", 1), ("random", 2), ("random", 3)]
    other = next(f"simple_python_{at}" for at in range(6) if f"simple_python_{at}" not in items)
    assert cli("label", imported_run, other, "--verdict", "pass", "--annotator", "ann").code == 0
    assert (
        cli("calibrate", imported_run, "--by", "overall", "--json").objects[0]["chosen"] == "both"
    )


def test_run_without_reviews_prints_message(cli: Cli, imported_run: Path) -> None:
    assert "No item has both an automatic and a human verdict" in cli("calibrate", imported_run).out
    assert cli("calibrate", imported_run, "--json").objects == []
    assert cli("calibrate", imported_run, "--by", "colour").code == 2
