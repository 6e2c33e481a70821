"""Import published BFCL runs under other model names, and compare the recomputed verdicts.

Usage: python benchmarks/bfcl_renamed.py BENCH [--folder DIR] [--run TEXT] [--exceptions] BENCH
contains `bfcl_v4`, `bfcl_families`, `bfcl_v1_panel` and `bfcl_v1`. Each model folder is linked
under eight other names: two suffixes, two prefixes, the name of another model, a provider, lower
case and an unknown name. With scores, the recomputed verdicts must agree with the official ones as
often as under the model's own name. Without scores, they must be those under its own name for 99 %
of the items. The program lists every run that misses this, with the decoder and why it was chosen,
and exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, RunFact
from fcreview.run_plan import RunPlan

MIN_EQUAL = 0.99
"""Share of items whose recomputed verdicts without scores must be those under the model's own
name.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with `result` and `score` of published runs."""

    folder: str
    data: str
    other_model: str
    """Name of a listed model of the BFCL version.

    Runs of this model are renamed to `second_model`.
    """
    second_model: str

    def find_other_model(self, model: str) -> str:
        return self.second_model if model == self.other_model else self.other_model


SOURCES = (
    Source(
        "bfcl_v4",
        data="bfcl_v4/data",
        other_model="Qwen_Qwen3-8B-FC",
        second_model="gpt-4.1-2025-04-14",
    ),
    Source(
        "bfcl_families/v3",
        data="bfcl_families/v3_data",
        other_model="gpt-4o-2024-11-20-FC",
        second_model="claude-3-5-sonnet-20241022",
    ),
    Source(
        "bfcl_families/v1",
        data="bfcl_v1/data",
        other_model="gpt-4-0613-FC",
        second_model="command-r-plus",
    ),
    Source(
        "bfcl_v1_panel",
        data="bfcl_v1/data",
        other_model="gpt-4-0613-FC",
        second_model="command-r-plus",
    ),
)


def list_other_names(source: Source, model: str) -> dict[str, str]:
    """Return kind of name -> another name for a model."""
    return {
        "suffix": f"{model}-run1",
        "second suffix": f"{model}_AWQ-int4",
        "prefix": f"2025-11-02_{model}",
        "second prefix": f"my-{model}",
        "other model": source.find_other_model(model),
        "provider": f"openrouter_{model}",
        "lower case": model.lower(),
        "unknown": "candidate-7",
    }


@dataclass(slots=True)
class ReadRun:
    """Verdicts of a run, by (category, item id)."""

    decoder: str = ""
    reason: str = ""
    recomputed: dict[tuple[str, str], tuple[bool | None, str | None]] = field(default_factory=dict)
    n_scored: int = 0
    n_agreeing: int = 0

    @staticmethod
    def read(plan: RunPlan) -> ReadRun:
        """Read the items of a run: the decoder that the importer chose, and how often verdicts
        agree.
        """
        found = ReadRun()
        for record in read_items(plan):
            if isinstance(record, RunFact) and record.name == "decoder":
                found.decoder = record.value
                found.reason = record.reason
            if isinstance(record, Item) and record.rule is not None:
                found._add(record)
        return found

    def _add(self, item: Item) -> None:
        verdict = item.rule, item.rule_error_type
        self.recomputed[item.category, item.id] = verdict
        if item.official is not None:
            self.n_scored += 1
            self.n_agreeing += (item.official, item.error_type) == verdict

    def count_equal(self, other: ReadRun) -> int:
        """Number of items of this run that pass or fail as in the other run."""
        n_equal = 0
        for key, (passes, _) in self.recomputed.items():
            n_equal += key in other.recomputed and other.recomputed[key][0] == passes
        return n_equal


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run under another name, with and without scores."""

    source: Source
    model: str
    kind: str
    name: str
    own: ReadRun
    """The run under its own name, with scores."""
    own_without_scores: ReadRun
    with_scores: ReadRun
    without_scores: ReadRun

    @property
    def agrees_as_often(self) -> bool:
        return self.with_scores.n_agreeing >= self.own.n_agreeing

    @property
    def n_items(self) -> int:
        return len(self.own_without_scores.recomputed)

    @property
    def n_equal(self) -> int:
        return self.own_without_scores.count_equal(self.without_scores)


class Renamer:
    """Links the files of runs into a folder under other names, and reads them."""

    def __init__(self, bench: Path, folder: Path) -> None:
        self._bench = bench
        self._folder = folder
        self._n_copies = 0

    def compare(self, source: Source, model: str) -> Iterator[Comparison]:
        """Import a run under its own name and under other names, with and without its score files.

        The score files show which decoder is right, so the importer depends on the name only
        without them.
        """
        own = self._read(source, model, model, with_scores=True)
        own_without_scores = self._read(source, model, model, with_scores=False)
        for kind, name in list_other_names(source, model).items():
            if name == model:
                continue
            with_scores = self._read(source, model, name, with_scores=True)
            without_scores = self._read(source, model, name, with_scores=False)
            yield Comparison(
                source,
                model=model,
                kind=kind,
                name=name,
                own=own,
                own_without_scores=own_without_scores,
                with_scores=with_scores,
                without_scores=without_scores,
            )

    def _read(self, source: Source, model: str, name: str, *, with_scores: bool) -> ReadRun:
        """Read a copy of a run under another model name. The copy consists of links to its files.

        The categories of several turns, memory and web search are left out.
        """
        self._n_copies += 1
        copy = self._folder / str(self._n_copies)
        roles = ("result", "score") if with_scores else ("result",)
        for role in roles:
            folder = self._bench / source.folder / role / model
            for path in folder.rglob("*.json"):
                if "multi_turn" in path.name or "memory" in path.name or "web_search" in path.name:
                    continue
                link = copy / role / name / path.relative_to(folder)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path.resolve())
        (plan,) = discover([copy], data=[self._bench / source.data]).plans
        return ReadRun.read(plan)


def compare_runs(bench: Path, folder: Path, text: str = "") -> Iterator[Comparison]:
    """Compare all runs whose folder or model contains `text`."""
    renamer = Renamer(bench, folder)
    for source in SOURCES:
        for path in sorted((bench / source.folder / "result").iterdir()):
            if text in f"{source.folder} {path.name}":
                yield from renamer.compare(source, path.name)


@dataclass(slots=True)
class Totals:
    n_names: int = 0
    n_missed: int = 0
    """Number of names under which recomputed verdicts agree less often with the official ones."""
    n_items: int = 0
    n_equal: int = 0
    n_silent: int = 0
    """Number of names whose verdicts differ without scores although the decoder is not shown as
    a guess.
    """

    def add(self, comparison: Comparison) -> None:
        self.n_names += 1
        self.n_missed += not comparison.agrees_as_often
        self.n_items += comparison.n_items
        self.n_equal += comparison.n_equal
        differs = comparison.n_equal < comparison.n_items
        self.n_silent += differs and "a guess" not in comparison.without_scores.reason

    @property
    def share(self) -> float:
        return self.n_equal / max(self.n_items, 1)

    @property
    def is_good(self) -> bool:
        return not self.n_missed and not self.n_silent and self.share >= MIN_EQUAL


def print_exceptions(comparison: Comparison) -> None:
    """Print where another name leads to other verdicts than the run's own name."""
    title = f"{comparison.source.folder} {comparison.model} as {comparison.name}"
    if not comparison.agrees_as_often:
        read = comparison.with_scores
        counts = (
            f"{read.n_agreeing} of {read.n_scored} agree, {comparison.own.n_agreeing} under its own"
            " name"
        )
        print(f"{title}, with scores: {counts}; {read.decoder}: {read.reason}", flush=True)
    if comparison.n_equal < comparison.n_items:
        read = comparison.without_scores
        counts = (
            f"{comparison.n_items - comparison.n_equal} of {comparison.n_items} verdicts differ"
        )
        decoders = f"{comparison.own.decoder} became {read.decoder}: {read.reason}"
        print(f"{title}, without scores: {counts}; {decoders}", flush=True)


def main() -> None:
    """Compare the runs under all names. The exit code is 1 if names matter too often."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument(
        "--run", default="", metavar="TEXT", help="only runs whose folder or model contains TEXT"
    )
    arguments = parser.parse_args()
    totals = Totals()
    totals_by_kind: dict[str, Totals] = {}
    with tempfile.TemporaryDirectory() as folder:
        for comparison in compare_runs(arguments.bench, Path(folder), arguments.run):
            print_exceptions(comparison)
            totals.add(comparison)
            totals_by_kind.setdefault(comparison.kind, Totals()).add(comparison)
    for kind, part in [*totals_by_kind.items(), ("all", totals)]:
        equal = (
            f"{part.n_equal:,} of {part.n_items:,} verdicts equal without scores"
            f" ({100 * part.share:.2f} %)"
        )
        print(
            f"{kind}: {part.n_names} names, {part.n_missed} agree less often with scores; {equal}"
        )
    sys.exit(0 if totals.is_good else 1)


if __name__ == "__main__":
    main()
