"""Official figures include incidents.

Beside each stands the figure without them, on every surface alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Item, MissingItem
from tests.incidents import (
    EMPTY,
    LIMIT,
    RATE_LIMIT,
    generic_record,
    import_changed,
    set_incidents,
    write_generic_run,
)

Cli = Callable[..., Any]
N = 10
INCIDENTS = {f"irrelevance_{at}": RATE_LIMIT for at in range(4)} | {
    "weather_0": RATE_LIMIT,
    "weather_1": LIMIT,
}
INCIDENTS |= {"weather_2": EMPTY}
SOURCES = ("official", "rule", "effective")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten items of each of two categories.

    All four `irrelevance` incidents pass, the one of `weather` fails.
    """
    place = tmp_path / "runs"
    records = [
        generic_record(f"irrelevance_{at}", passes=at < 6, category="irrelevance")
        for at in range(N)
    ]
    records += [generic_record(f"weather_{at}", passes=at >= 5) for at in range(N)]
    write_generic_run(place, records)
    import_changed(place, set_incidents(INCIDENTS))
    return place


def fetch_run(cli: Cli, folder: Path) -> dict[str, Any]:
    (run,) = cli("runs", folder, "--json").objects
    return dict(run)


def fetch_figures(cli: Cli, folder: Path) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in cli("report", folder, "--json").objects}


def test_counts_stand_beside_official_ones_per_run_and_category(cli: Cli, folder: Path) -> None:
    run = fetch_run(cli, folder)
    assert (run["incidents"], run["n_items"], run["official_pass"], run["official_known"]) == (
        5,
        20,
        11,
        20,
    )
    for source in SOURCES:
        assert run[f"{source}_known_without_incidents"] == 15
        assert run[f"{source}_pass_without_incidents"] == 7
    by_category = {each["category"]: each for each in run["categories"]}
    assert by_category["irrelevance"]["incidents"] == 4
    assert by_category["irrelevance"]["official_pass_without_incidents"] == 2
    assert by_category["weather"]["official_known_without_incidents"] == 9


def test_report_computes_each_metric_without_incidents(cli: Cli, folder: Path) -> None:
    figures = fetch_figures(cli, folder)
    assert figures["all items"]["official"] == 11 / 20
    assert figures["all items"]["without_incidents"] == dict.fromkeys(
        ("official", "rule", "corrected"), 7 / 15
    )
    assert figures["irrelevance"]["n_without_incidents"]["official"] == 6
    assert {line["incidents"] for line in figures.values()} == {5}
    text = cli("report", folder).out
    assert "official w/o incidents" in text
    assert "46.7 % (15)" in text and "33.3 % (6)" in text


def test_runs_without_incidents_look_as_before(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "ordinary"
    write_generic_run(place, [generic_record("a", passes=True)])
    import_changed(place, set_incidents({}))
    for command in ("runs", "report", "import"):
        assert not re.search(r"without \d|w/o", cli(command, place).out)
    assert fetch_figures(cli, place)["all items"]["without_incidents"] == {}


def test_text_of_runs_and_import_has_the_rate_without_incidents(cli: Cli, folder: Path) -> None:
    heading, line, *_ = cli("runs", folder).out.splitlines()
    assert "w/o incidents" in heading and " 46.7 % (15) " in line
    (line,) = [
        line for line in cli("import", folder).out.splitlines() if "without 5 incidents" in line
    ]
    assert line.split()[3:5] == ["15", "46.7"]


def test_category_of_incidents_only_is_unknown_and_not_zero(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    names = [f"irrelevance_{at}" for at in range(3)]
    records = [generic_record(name, passes=True, category="irrelevance") for name in names]
    write_generic_run(place, [*records, generic_record("weather_0", passes=True)])
    import_changed(place, set_incidents(dict.fromkeys(names, RATE_LIMIT)))
    irrelevance = fetch_figures(cli, place)["irrelevance"]
    assert (irrelevance["official"], irrelevance["without_incidents"]["official"]) == (1.0, None)
    assert "no item has an answer" in cli("report", place).out
    assert "100.0 % (1)" in cli("runs", place).out


def test_run_of_incidents_only_says_that_no_item_has_an_answer(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    write_generic_run(place, [generic_record("a", passes=True)])
    import_changed(place, set_incidents({"a": RATE_LIMIT}))
    assert "no item has an answer" in cli("runs", place).out.splitlines()[1]
    page = place / "report.html"
    assert cli("report", place, "--html", page).code == 0
    assert "no item has an answer" in page.read_text().replace("\xa0", " ")


def test_html_report_has_a_column_without_incidents(cli: Cli, folder: Path) -> None:
    page = folder / "report.html"
    assert cli("report", folder, "--html", page).code == 0
    text = page.read_text().replace("\xa0", " ")
    assert "official w/o incidents" in text
    assert text.count("46.7 % (15)") >= 3, (
        "in the card, by category, in the scores and among the metrics"
    )


def test_confirming_the_automatic_mark_changes_no_figure(cli: Cli, folder: Path) -> None:
    before = fetch_run(cli, folder), fetch_figures(cli, folder), cli("triage", folder, "--json").out
    cli("label", folder, "irrelevance_0", "--criterion", "incident", "--verdict", "yes")
    cli("label", folder, "weather_5", "--criterion", "incident", "--verdict", "no")
    assert (
        fetch_run(cli, folder),
        fetch_figures(cli, folder),
        cli("triage", folder, "--json").out,
    ) == before


@pytest.mark.parametrize(
    ("item", "verdict", "passed", "known"),
    [
        ("irrelevance_0", "no", 8, 16),
        ("weather_0", "no", 7, 16),
        ("weather_9", "yes", 6, 14),
        ("weather_1", "yes", 7, 14),
        ("weather_2", "yes", 7, 14),
    ],
)
def test_overriding_the_mark_changes_exactly_the_figures_without_incidents(
    cli: Cli, folder: Path, item: str, verdict: str, passed: int, known: int
) -> None:
    before, figures_before = fetch_run(cli, folder), fetch_figures(cli, folder)
    assert cli("label", folder, item, "--criterion", "incident", "--verdict", verdict).code == 0
    after, figures_after = fetch_run(cli, folder), fetch_figures(cli, folder)

    for source in SOURCES:
        assert after[f"{source}_pass_without_incidents"] == passed
        assert after[f"{source}_known_without_incidents"] == known
    for line in figures_after.values():
        assert line["incidents"] == after["incidents"] == 20 - known
    assert figures_after["all items"]["without_incidents"]["official"] == passed / known
    assert _drop_figures_without_incidents(before) == _drop_figures_without_incidents(after)
    for name, line in figures_before.items():
        assert _drop_figures_without_incidents(line) == _drop_figures_without_incidents(
            figures_after[name]
        )


def _drop_figures_without_incidents(value: Any) -> Any:
    """Drop the figures that depend on incidents, and the field `problems`, which names their
    number.
    """
    if isinstance(value, dict):
        return {
            name: _drop_figures_without_incidents(inner)
            for name, inner in value.items()
            if "incidents" not in name and name != "problems"
        }
    if isinstance(value, list):
        return [_drop_figures_without_incidents(inner) for inner in value]
    return value


def test_conventions_have_values_without_incidents(cli: Cli, bench: Path, tmp_path: Path) -> None:
    place = tmp_path / "tau2"
    place.mkdir()
    source = next((bench / "tau2").rglob("*.json"))
    (place / source.name).write_bytes(source.read_bytes())
    first: list[str] = []

    def mark_first(item: Item) -> None:
        if not first or item.id == first[0]:
            first[:] = [item.id]
            item.set_incident(RATE_LIMIT)

    import_changed(place, mark_first)
    rows = cli("report", place, "--conventions", "--json").objects
    assert rows and {row["incidents"] for row in rows} == {1}
    accuracy = next(row for row in rows if row["figure"] == "accuracy" and row["is_own"])
    assert accuracy["n_without_incidents"] == accuracy["n"] - 1
    assert "w/o incidents" in cli("report", place, "--conventions").out


def test_items_that_were_not_run_are_counted_in_every_table_with_rates(
    cli: Cli, tmp_path: Path
) -> None:
    place = tmp_path / "runs"
    write_generic_run(place, [generic_record(f"a{at}", passes=True) for at in range(3)])
    import_changed(place, lambda _: None, [MissingItem(f"b{at}", "weather") for at in range(397)])
    run = fetch_run(cli, place)
    assert (run["not_run"], run["expected_items"]) == (397, 400)
    assert run["categories"][0]["not_run"] == 397
    (imported,) = [row for row in cli("import", place, "--json").objects if row["kind"] == "run"]
    assert (imported["not_run"], imported["expected_items"]) == (397, 400)
    for command in ("runs", "import", "report"):
        assert "3 of 400" in cli(command, place).out
    assert {
        (line["not_run"], line["expected_items"]) for line in fetch_figures(cli, place).values()
    } == {(397, 400)}
    page = place / "report.html"
    cli("report", place, "--html", page)
    assert page.read_text().replace("\xa0", " ").count("3 of 400") >= 3, (
        "in the card, by category and in the scores"
    )
    counts = cli(
        "sql", place, "SELECT count(*) AS n, min(id) AS first FROM not_run", "--json"
    ).objects
    assert json.dumps(counts) == '[{"n": 397, "first": "b0"}]'


def test_published_run_has_the_figures_of_its_requests_that_did_not_fail(
    cli: Cli, bench: Path, tmp_path: Path
) -> None:
    """The figures are from the README of the folder: irrelevance 53.3 % (240), 46.9 % without 29
    failed requests.
    """
    results = bench / "bfcl_api_errors" / "v3_ministral"
    lines = cli("report", results, "--workspace", tmp_path, "--json").objects
    figures = {line["name"]: line for line in lines if line["table"] == "accuracy"}
    shares = {
        name: [
            round(100 * value, 1)
            for value in (figures[name]["official"], figures[name]["without_incidents"]["official"])
        ]
        for name in ("irrelevance", "java")
    }
    assert shares == {"irrelevance": [53.3, 46.9], "java": [8.0, 22.2]}
    assert figures["java"]["n_without_incidents"]["official"] == 36
    assert figures["overall"]["without_incidents"]["official"] is None
    (run,) = cli("runs", results, "--workspace", tmp_path, "--json").objects
    counts = {
        each["category"]: each["incidents"] for each in run["categories"] if each["incidents"]
    }
    assert counts["irrelevance"] == 29 and counts["java"] == 64
    passing = cli(
        "items", results, "--workspace", tmp_path, "--where", "incident:any official:pass", "--ids"
    ).out
    assert len(passing.split()) == 29
