"""`fcreview agreement` prints the figures that independent libraries compute."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import orjson
import pytest

from fcreview.model.review import ItemKey
from fcreview.store.reviews.journal import hash_event
from tests.commands import Done, environment, run_in_this_process
from tests.oracles import AnnotationTask
from tests.sources import ROOT

pytestmark = pytest.mark.slow  # two hundred labels
Cli = Callable[..., Done]
ANNOTATORS = ("alice", "bob", "carol")
VALUES: dict[str, dict[str, Any]] = {
    "correct": {"pass": True, "fail": False, "unsure": "unsure"},
    "completeness": {"0": 0, "1": 1, "2": 2},
}


@dataclass
class LabelledRuns:
    runs: Path
    home: Path
    values: dict[tuple[str, str], list[dict[str, Any]]]
    """Value by annotator of each item, without "unsure", by (benchmark, criterion)."""

    def __call__(self, *arguments: str | Path) -> Done:
        return run_in_this_process(
            ["agreement", self.runs, *arguments], self.home, environment(self.home)
        )

    def units(self, criterion: str) -> list[dict[str, Any]]:
        return [
            unit for (_, name), units in self.values.items() if name == criterion for unit in units
        ]


@pytest.fixture(scope="module")
def labelled_runs(tmp_path_factory: pytest.TempPathFactory) -> LabelledRuns:
    """Runs of two benchmarks labelled by three annotators. carol skips some items."""
    home = tmp_path_factory.mktemp("agreement")
    labelled = LabelledRuns(home / "runs", home, {})
    for name in ("acebench", "complexfuncbench"):
        shutil.copytree(ROOT / "sample_runs" / name, labelled.runs / name)

    def cli(*arguments: str | Path) -> Done:
        done = run_in_this_process(arguments, home, environment(home))
        assert done.code == 0, done.err
        return done

    draw = random.Random(4)
    written: dict[str, list[dict[str, Any]]] = {who: [] for who in ANNOTATORS}
    for criterion, where, more in (
        ("correct", "benchmark:acebench language:en", {}),
        ("correct", "benchmark:complexfuncbench", {}),
        ("completeness", "benchmark:complexfuncbench", {"target": "response"}),
    ):
        for item in cli("items", labelled.runs, "--json", "--where", where, "--limit", 7).objects:
            unit: dict[str, Any] = {}
            common = draw.choice(list(VALUES[criterion])[:-1])
            for who in ANNOTATORS:
                if who == "carol" and draw.random() < 0.3:
                    continue
                word = common if draw.random() < 0.6 else draw.choice(list(VALUES[criterion]))
                key = {name: item[name] for name in ItemKey._fields}
                written[who].append(
                    key
                    | {"criterion": criterion, "value": VALUES[criterion][word], "blind": False}
                    | more
                )
                if word != "unsure":
                    unit[who] = VALUES[criterion][word]
            labelled.values.setdefault((item["benchmark"], criterion), []).append(unit)
    for who, rows in written.items():
        (home / who).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        cli("label", labelled.runs, "--from", home / who, "--annotator", who)
    return labelled


def is_close(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) < 1e-9


def krippendorff_alpha(units: list[dict[str, Any]], level: Any) -> float:
    matrix = [[float(unit[who]) if who in unit else np.nan for unit in units] for who in ANNOTATORS]
    return float(krippendorff.alpha(matrix, level_of_measurement=level))


def find_figure(figures: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    (found,) = [
        figure for figure in figures if all(figure[name] == value for name, value in fields.items())
    ]
    return found


@pytest.mark.sweep
def test_figures_match_independent_libraries(labelled_runs: LabelledRuns) -> None:
    figures = labelled_runs("--json").objects
    for criterion, level in (("correct", "nominal"), ("completeness", "ordinal")):
        units = labelled_runs.units(criterion)
        found = find_figure(figures, scope="overall", criterion=criterion, metric="alpha")
        assert found["level"] == level
        assert is_close(found["value"], krippendorff_alpha(units, level))
        assert found["n_units"] == sum(len(unit) > 1 for unit in units)
        assert found["n_labels"] == sum(len(unit) for unit in units if len(unit) > 1)
        for pair in (["alice", "bob"], ["alice", "carol"], ["bob", "carol"]):
            both = [unit for unit in units if set(pair) <= unit.keys()]
            task = AnnotationTask(
                [(who, str(at), unit[who]) for at, unit in enumerate(both) for who in pair]
            )
            cohen = find_figure(
                figures, scope="overall", criterion=criterion, metric="cohen", annotators=pair
            )
            assert is_close(cohen["value"], task.kappa_pairwise(*pair))
            assert cohen["n_units"] == len(both)
            percent = find_figure(
                figures, scope="overall", criterion=criterion, metric="percent", annotators=pair
            )
            assert is_close(percent["value"], task.Ao(*pair))


def test_benchmarks_are_compared_separately(labelled_runs: LabelledRuns) -> None:
    figures = labelled_runs("--json", "--by", "benchmark").objects
    assert {figure["scope"] for figure in figures} == {"benchmark"}
    for (benchmark, criterion), units in labelled_runs.values.items():
        found = find_figure(figures, benchmark=benchmark, criterion=criterion, metric="alpha")
        assert is_close(found["value"], krippendorff_alpha(units, found["level"]))
        assert found["category"] is None
    filtered = labelled_runs("--json", "--by", "criterion", "--where", "benchmark:acebench").objects
    (benchmark,) = [
        figure
        for figure in figures
        if figure["benchmark"] == "acebench" and figure["metric"] == "ac1"
    ]
    assert find_figure(filtered, metric="ac1") == benchmark | {
        "scope": "overall",
        "benchmark": None,
    }


def test_json_lines_have_all_fields(labelled_runs: LabelledRuns) -> None:
    done = labelled_runs("--json")
    assert done.code == 0
    assert {tuple(figure) for figure in done.objects} == {
        (
            "scope",
            "benchmark",
            "category",
            "criterion",
            "level",
            "metric",
            "annotators",
            "value",
            "low",
            "high",
            "n_units",
            "n_labels",
            "given",
            "interval",
            "interval_note",
        )
    }
    assert {figure["scope"] for figure in done.objects} == {"overall", "benchmark", "category"}
    assert {figure["given"] for figure in done.objects} == {"seen"}
    whole = [each for each in done.objects if each["low"] is not None]
    assert whole and all(each["low"] <= each["high"] for each in whole)
    assert labelled_runs("--json").out == done.out


def test_tables_show_same_figures(labelled_runs: LabelledRuns) -> None:
    shown = labelled_runs().out
    figures = labelled_runs("--json").objects
    correct = find_figure(
        figures, scope="overall", criterion="correct", metric="percent", annotators=list(ANNOTATORS)
    )
    interval = f"[{100 * correct['low']:.1f}, {100 * correct['high']:.1f}]"
    lines = shown.split("\n")
    at = lines.index("correct · reviews that were not blind · 3 annotators")
    assert lines[at + 1].startswith("  % agreement ")
    assert f"{100 * correct['value']:.1f} %  {interval}" in lines[at + 1]
    assert "alpha (ordinal)" in shown
    for text in (
        "agreement overall",
        "agreement by benchmark",
        "agreement by category",
        "alice, carol: Cohen's kappa",
        "not blind",
    ):
        assert text in shown, text
    unsure = sum(
        orjson.loads(line)["verdict"] == "unsure"
        for journal in (labelled_runs.runs / ".fcreview" / "reviews").glob("*.jsonl")
        for line in journal.read_bytes().splitlines()
    )
    assert unsure
    assert f"{unsure} unsure" in shown.split("\n")[0]
    only = labelled_runs("--by", "criterion").out
    assert "by benchmark" not in only and "by category" not in only


@pytest.mark.sweep
def test_blind_reviews_are_compared_separately(labelled_runs: LabelledRuns, tmp_path: Path) -> None:
    """The reviews of alice and bob are blind.

    Those of carol have no flag, as from an older version.
    """
    runs = tmp_path / "runs"
    shutil.copytree(labelled_runs.runs, runs)
    for who, blind in (("alice", True), ("bob", True), ("carol", None)):
        rewrite_blind_flags(runs / ".fcreview" / "reviews" / f"{who}.jsonl", blind)
    changed = LabelledRuns(runs, labelled_runs.home, labelled_runs.values)
    figures = changed("--json", "--by", "criterion").objects
    assert {figure["given"] for figure in figures} == {"blind", "unknown"}
    blind = find_figure(figures, given="blind", criterion="correct", metric="percent")
    assert blind["annotators"] == ["alice", "bob"]
    alone = find_figure(figures, given="unknown", criterion="correct", metric="percent")
    assert (alone["annotators"], alone["value"], alone["n_units"]) == (["carol"], None, 0)
    assert {figure["given"] for figure in changed("--json", "--given", "blind").objects} == {
        "blind"
    }
    everybody = changed("--json", "--given", "all").objects
    before = labelled_runs("--json").objects
    assert everybody == [figure | {"given": "all"} for figure in before]
    shown = changed("--by", "criterion").out
    assert "blind reviews: 2 annotators (alice, bob)" in shown
    assert "reviews with unknown blind status: 1 annotator (carol)" in shown
    assert changed("--given", "seen").out == "no review is seen\n"


def rewrite_blind_flags(journal: Path, blind: bool | None) -> None:
    """Set the blind flag of all events and chain them again."""
    lines, previous = [], ""
    for line in journal.read_bytes().splitlines():
        content = orjson.loads(line) | {"previous": previous, "blind": blind}
        content = {
            name: value for name, value in content.items() if value is not None and name != "hash"
        }
        previous = content["hash"] = hash_event(content)
        lines.append(orjson.dumps(content) + b"\n")
    journal.write_bytes(b"".join(lines))


def test_run_without_reviews_is_not_compared(cli: Cli, one_run: Path) -> None:
    done = cli("agreement", one_run)
    assert (done.code, done.out) == (0, "there are no reviews to compare\n")
    assert cli("agreement", one_run, "--json").out == ""


def test_single_annotator_has_no_figures(cli: Cli, one_run: Path) -> None:
    cli("label", one_run, "simple_python_1", "--verdict", "pass", "--annotator", "alice")
    shown = cli("agreement", one_run).out
    assert "1 annotator (alice), 1 label" in shown
    assert "pairs" not in shown
    assert all(figure["value"] is None for figure in cli("agreement", one_run, "--json").objects)


@pytest.mark.parametrize(
    "arguments", [["--given", "half"], ["--by", "model"], ["--by", "category", "--by", "x"]]
)
def test_unknown_option_value_is_wrong_usage(cli: Cli, one_run: Path, arguments: list[str]) -> None:
    done = cli("agreement", one_run, *arguments)
    assert (done.code, done.out) == (2, "")
    assert ": choose " in done.err


def test_hostile_names_are_harmless(
    cli: Cli, one_run: Path, hostile: str, raw: tuple[str, ...]
) -> None:
    cli("label", one_run, "simple_python_1", "--verdict", "pass", "--annotator", "alice")
    journal = one_run / ".fcreview" / "reviews" / "alice.jsonl"
    name = hostile.replace("/", "")[:60]
    content = orjson.loads(journal.read_bytes()) | {"annotator": name, "criterion": hostile}
    content["hash"] = hash_event(content)
    journal.rename(journal.with_stem(name)).write_bytes(orjson.dumps(content) + b"\n")
    for arguments in ([], ["--json"]):
        done = cli("agreement", one_run, *arguments)
        assert done.code == 0
        assert "evil" in done.out
        assert not any(char in done.out for char in raw)
