"""Test that all commands show the same effective verdicts: report = runs = items = export = SQL.

Imports published runs into a temporary workspace, records random reviews of two annotators on items
and their parts with `fcreview import-labels`, and compares the output of the commands after each
draw. A figure of `report` is compared if it is the mean of the verdicts on one criterion.

Usage: python -m benchmarks.surfaces BENCH [FOLDER...] [--draws N] [--seed N]
Prints a Markdown table, and each difference. The exit code is 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from tests.commands import environment, run_in_this_process

Record = Mapping[str, Any]
"""A line of a command's JSON output."""
FOLDERS = (
    "acebench",
    "atif",
    "bfcl_v1",
    "bfcl_v4",
    "complexfuncbench",
    "confetti",
    "evalscope",
    "hammerbench",
    "harbor_job",
    "inspect",
    "inspect_bfcl",
    "livemcpbench",
    "mapping/inhouse.toml",
    "mcp_atlas",
    "nemo_gym",
    "tau2",
    "tau_v1",
    "verifiers",
)
ANNOTATORS = ("ann", "bob")
REVIEWS_PER_DRAW = 25
"""Number of reviews that each annotator records in a draw."""
WITHOUT_VERDICT = ("decisive_step", "incident")
"""Criteria that are no verdicts on an answer."""
PARTS_QUERY = """
SELECT i.run, i.category, i.id, p.turn, row_number() OVER (PARTITION BY item, p.turn) AS call
FROM items i JOIN pairs p USING (item) LIMIT 5000
"""
VERDICTS_QUERY = """
SELECT run, category, id, effective FROM labels WHERE target = 'item' AND criterion = 'correct'
"""
KEY_FIELDS = (
    *("benchmark", "generation", "language", "model", "category", "id"),
    *("prediction_hash", "golden_hash"),
)
MEAN_TABLES = ("accuracy", "accuracy of verified trials")
"""Tables whose row `all items` is the mean of the items, and whose other rows are means of single
categories if they have the name of one.
"""
CRITERION_BY_TABLE = {
    ("acebench", "process accuracy"): "process_accuracy",
    ("evalscope", "EvalScope: accuracy"): "correct",
    ("evalscope", "EvalScope: process_acc"): "process_accuracy",
}
"""(benchmark, table) -> criterion of rows that have the name of a category."""
ROUNDED_DIGITS = {
    ("acebench", "accuracy"): 3,
    ("acebench", "process accuracy"): 3,
    ("evalscope", "EvalScope: accuracy"): 4,
    ("evalscope", "EvalScope: process_acc"): 4,
}
"""(benchmark, table) -> decimals to which the benchmark rounds each category."""


@dataclass(frozen=True)
class Selection:
    """Labels of whole items on one criterion, of which a figure is the mean."""

    criterion: str
    category: str = ""
    """The category; empty for all."""
    prefix: str = ""
    """Beginning of the categories; empty for all."""
    factor: float = 1.0

    def contains(self, label: Record) -> bool:
        if not is_on_item(label, self.criterion):
            return False
        is_of_category = self.category in ("", label["category"])
        return is_of_category and label["category"].startswith(self.prefix)


SELECTIONS = {
    ("tau", "reward", "average reward"): Selection("reward"),
    ("confetti", "function calling", "binary accuracy"): Selection(
        "correct", prefix="conversationsclean"
    ),
    ("confetti", "function calling", "soft accuracy, per call"): Selection("soft_score"),
    ("confetti", "response quality", "dialog act accuracy"): Selection(
        "correct", prefix="dialogacts"
    ),
    ("complexfuncbench", "over the records present", "Overall Success Rate"): Selection(
        "correct", factor=100
    ),
    ("hammerbench", "mQmA", "Func_Acc"): Selection("func_ok", prefix="mQmA"),
    ("hammerbench", "mQmA", "Args_Acc"): Selection("args_ok", prefix="mQmA"),
    ("hammerbench", "mQmA", "Rejection rate"): Selection("rejected", prefix="mQmA"),
}
"""(benchmark, table, name) of a figure -> labels of which it is the mean."""


@dataclass
class Counts:
    """What was compared on one folder."""

    runs: int = 0
    reviews: int = 0
    items: int = 0
    """Effective verdicts of items that are compared with another command."""
    run_figures: int = 0
    report_figures: int = 0
    kinds: set[str] = field(default_factory=set)
    """Kinds of reviewed targets with their criteria."""
    differences: list[str] = field(default_factory=list)


class Workspace:
    """Runs commands on the runs of one folder."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path.resolve()
        self._folder = folder

    def read(self, command: str, *arguments: str) -> list[Record]:
        """Run a command, and return the lines of its JSON output."""
        output = self._run(command, *arguments, "--json")
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    def read_labels(self) -> list[Record]:
        output = self._run("export", "-o", "-")
        return [json.loads(line) for line in output.splitlines()]

    def import_runs(self) -> None:
        # The exit code says whether a run had an error; the published runs contain some.
        self._run("import", can_fail=True)

    def record_reviews(self, reviews: Iterable[Record], annotator: str) -> None:
        file = self._folder / "reviews.jsonl"
        file.write_text("".join(json.dumps(review) + "\n" for review in reviews))
        self._run("import-labels", str(file), "--annotator", annotator)

    def _run(self, command: str, *arguments: str, can_fail: bool = False) -> str:
        """Run a command in this process, which is faster, and return its output."""
        line = [command, str(self._path), *arguments, "--workspace", str(self._folder)]
        done = run_in_this_process(line, cwd=self._folder, environ=environment(self._folder))
        if done.code and not can_fail:
            raise SystemExit(f"{command} failed on {self._path}: {done.err}")
        return done.out


# -- random reviews


@dataclass(frozen=True)
class Candidate:
    """A target of an item on which an annotator can record a verdict."""

    item: Record
    target: str
    criterion: str
    values: Sequence[Any]
    """Verdicts that contradict the automatic one."""

    @property
    def kind(self) -> str:
        part = self.target.rpartition("/")[2].partition(":")[0]
        return f"{part} {self.criterion}"

    def draw_review(self, generator: random.Random) -> Record:
        review = {name: self.item[name] for name in KEY_FIELDS if self.item.get(name)}
        return review | {
            "target": self.target,
            "criterion": self.criterion,
            "value": generator.choice(self.values),
        }


def list_candidates(labels: Sequence[Record], parts: Iterable[Record]) -> list[Candidate]:
    """Return the targets of all items: those with automatic verdicts, and all turns, calls and
    arguments of items with a verdict.
    """
    values_by_criterion = collect_values(labels)
    candidates = []
    item_by_key = {}
    for label in labels:
        if label["criterion"] in WITHOUT_VERDICT:
            continue
        item_by_key[get_key(label)] = label
        values = [
            value
            for value in values_by_criterion[label["criterion"]]
            if value != label["effective"]
        ]
        if label["effective"] is not None and values:
            candidates.append(Candidate(label, label["target"], label["criterion"], values))

    for part in parts:
        item = item_by_key.get(get_key(part))
        if item is None:
            continue
        turn = f"turn:{part['turn'] + 1}"
        for target in (turn, f"{turn}/call:{part['call']}", f"{turn}/call:{part['call']}/arg:x"):
            candidates.append(Candidate(item, target, "correct", (True, False)))
            candidates.append(Candidate(item, target, "equivalent", (True, False)))
    return candidates


def collect_values(labels: Iterable[Record]) -> dict[str, list[Any]]:
    """Return the verdicts that occur on each criterion. A criterion with numbers also has 0 and 1."""
    values: defaultdict[str, list[Any]] = defaultdict(list)
    for label in labels:
        value = label["effective"]
        if isinstance(value, bool):
            own_values: list[Any] = [True, False]
        elif isinstance(value, int):
            own_values = [0, 1, value]
        elif isinstance(value, float):
            own_values = [0.0, 1.0, value]
        else:
            own_values = [value]
        known = values[label["criterion"]]
        known += [own for own in own_values if own is not None and own not in known]
    return values


def draw_reviews(candidates: Sequence[Candidate], generator: random.Random) -> Iterator[Record]:
    """Yield reviews of one annotator. Each kind of target is as likely as the others."""
    by_kind: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_kind[candidate.kind].append(candidate)
    kinds = sorted(by_kind)
    chosen = {}
    for _ in range(REVIEWS_PER_DRAW):
        candidate = generator.choice(by_kind[generator.choice(kinds)])
        chosen[get_key(candidate.item), candidate.target, candidate.criterion] = candidate
    for candidate in chosen.values():
        yield candidate.draw_review(generator)


# -- comparison


def get_key(record: Record) -> tuple[int, str, str]:
    return record["run"], record["category"], record["id"]


def compare_surfaces(workspace: Workspace, counts: Counts) -> None:
    """Compare the effective verdicts of all commands."""
    labels = workspace.read_labels()
    item_labels = [
        label for label in labels if (label["target"], label["criterion"]) == ("item", "correct")
    ]
    exported = {get_key(label): label["effective"] for label in item_labels}
    listed = {
        get_key(item): item["effective"]
        for item in workspace.read("items", "--limit", "1000000")
        if get_key(item) in exported
    }
    queried = {
        get_key(row): None if row["effective"] is None else row["effective"] == "true"
        for row in workspace.read("sql", VERDICTS_QUERY)
    }
    for name, verdicts in (("items", listed), ("sql", queried)):
        counts.items += len(exported)
        counts.differences += list_differences(name, verdicts, exported)
    compare_runs(workspace.read("runs"), exported, counts)
    compare_report(workspace.read("report"), labels, counts)


def list_differences(
    name: str, verdicts: Mapping[Any, Any], exported: Mapping[Any, Any]
) -> list[str]:
    differences = []
    for key in verdicts.keys() | exported.keys():
        if verdicts.get(key, "missing") != exported.get(key, "missing"):
            differences.append(f"{name} {key}: {verdicts.get(key)}, exported {exported.get(key)}")
    return differences


def compare_runs(
    runs: Iterable[Record], exported: Mapping[tuple[int, str, str], Any], counts: Counts
) -> None:
    """Compare the passing and the known items of each run and category."""
    passed: Counter[tuple[int, str | None]] = Counter()
    known: Counter[tuple[int, str | None]] = Counter()
    for (run, category, _), verdict in exported.items():
        for key in ((run, None), (run, category)):
            known[key] += verdict is not None
            passed[key] += verdict is True

    for row in runs:
        groups = [(None, row)] + [(part["category"], part) for part in row["categories"]]
        for category, figures in groups:
            key = (row["run"], category)
            counts.run_figures += 2
            shown = (figures["effective_pass"], figures["effective_known"])
            if shown != (passed[key], known[key]):
                counts.differences.append(f"runs {key}: {shown}, {passed[key], known[key]}")


def compare_report(report: Iterable[Record], labels: Iterable[Record], counts: Counts) -> None:
    """Compare each figure of the report that is a mean of exported verdicts."""
    labels_by_run: defaultdict[int, list[Record]] = defaultdict(list)
    for label in labels:
        labels_by_run[label["run"]].append(label)

    for figure in report:
        if figure.get("run") is None or figure.get("corrected") is None:
            continue
        labels_of_run = labels_by_run[figure["run"]]
        expected = compute_expected_mean(figure, labels_of_run)
        if expected is None:
            continue
        counts.report_figures += 1
        digits = ROUNDED_DIGITS.get((figure["benchmark"], figure["table"]))
        # Half of the last decimal, twice: the benchmark may round single values and their mean.
        tolerance = 1e-9 if digits is None else 1.001 * 10**-digits
        if abs(figure["corrected"] - expected) > tolerance:
            place = f"{figure['run']} {figure['table']} {figure['name']}"
            counts.differences.append(f"report {place}: {figure['corrected']}, {expected}")


def compute_expected_mean(figure: Record, labels: Sequence[Record]) -> float | None:
    """Compute a figure from exported verdicts. None if it is no mean of them, or without any."""
    categories = [label["category"] for label in labels if is_on_item(label, "correct")]
    selection = find_selection(figure, categories)
    if selection is None:
        return None
    verdicts = [label["effective"] for label in labels if selection.contains(label)]
    known = [float(verdict) for verdict in verdicts if verdict is not None]
    return mean(known) * selection.factor if known else None


def find_selection(figure: Record, categories: Sequence[str]) -> Selection | None:
    """Return which labels a figure is the mean of; None if it is no mean of verdicts.

    `categories`: category of each item of the run.
    """
    benchmark, table, name = figure["benchmark"], figure["table"], figure["name"]
    if (benchmark, table, name) in SELECTIONS:
        is_conversation = (benchmark, figure["generation"]) == ("hammerbench", "conversation")
        return None if is_conversation else SELECTIONS[benchmark, table, name]
    if name == "all items" and table in MEAN_TABLES:
        return Selection("correct")

    # Groups of BFCL categories can have the name of a category, such as `irrelevance`.
    is_group = benchmark == "bfcl" and figure["of"] != categories.count(name)
    # A conversation of ACEBench passes only as a whole.
    is_of_conversations = name.startswith("normal_multi_turn")
    if name not in categories or is_group or is_of_conversations:
        return None
    if table in MEAN_TABLES:
        return Selection("correct", category=name)
    if (benchmark, table) in CRITERION_BY_TABLE:
        return Selection(CRITERION_BY_TABLE[benchmark, table], category=name)
    return None


def is_on_item(label: Record, criterion: str) -> bool:
    """Whether a label is about a whole item, or about its response on another criterion."""
    if label["criterion"] != criterion:
        return False
    return label["target"] == "item" or (label["target"] == "response" and criterion != "correct")


def measure_folder(path: Path, n_draws: int, seed: int) -> Counts:
    """Record random reviews on the runs of a folder, and compare all commands after each draw."""
    counts = Counts()
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(path, Path(folder))
        workspace.import_runs()
        labels = workspace.read_labels()
        counts.runs = len({label["run"] for label in labels})
        candidates = list_candidates(labels, workspace.read("sql", PARTS_QUERY))
        compare_surfaces(workspace, counts)
        for _ in range(n_draws):
            for annotator in ANNOTATORS:
                reviews = list(draw_reviews(candidates, generator))
                workspace.record_reviews(reviews, annotator)
                counts.reviews += len(reviews)
            compare_surfaces(workspace, counts)
        counts.kinds = {candidate.kind for candidate in candidates}
    return counts


def main() -> None:
    """Print a row for each folder, then the differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    print("| data | runs | reviews | kinds | items | runs' figures | report's figures | differ |")
    print("|---|---|---|---|---|---|---|---|")
    differences = []
    total = Counter[str]()
    for name in arguments.folders:
        counts = measure_folder(arguments.bench / name, arguments.draws, arguments.seed)
        print(
            f"| {name} | {counts.runs} | {counts.reviews} | {len(counts.kinds)} | {counts.items:,}"
            f" | {counts.run_figures:,} | {counts.report_figures:,} | {len(counts.differences)} |",
            flush=True,
        )
        differences += [f"{name}: {text}" for text in counts.differences]
        total["figures"] += counts.run_figures + counts.report_figures
        total["items"] += counts.items
    print(f"{total['figures']:,} figures and {total['items']:,} verdicts of items compared")
    print("\n".join(differences))
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
