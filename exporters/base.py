"""Define the export formats, and give them access to the items and labels to export.

To add a format, write a function in a module of this folder and an entry of `FORMATS`. The function
receives an `ExportSource`, and either a `Sink` for the bytes of a file or an empty folder for
several files. `export.py` opens the output, and replaces an existing file only after the function
has returned. A module is imported when its format is first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import orjson

from fcreview.errors import FcreviewError

if TYPE_CHECKING:
    from fcreview.exporters.report_summary import EstimateByMetric, MetricRow
    from fcreview.model.item import Call, Item, Run
    from fcreview.model.metric import ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        GoldenExecution,
        ReviewedVerdict,
        RewrittenFile,
        RunPlan,
        Unrepresentable,
    )
    from fcreview.store.golden_fix_effect import Rescorer
    from fcreview.store.label_fields import DuckDBType, LabelSelection
    from fcreview.store.label_import import ImportedReview, InvalidRecord
    from fcreview.store.rows import ItemDetail, RunRow, View
    from fcreview.store.store import Store


T = TypeVar("T")
Label = dict[str, Any]
"""A label, with the fields that `fcreview.store.label_fields` describes."""
ProgressCallback = Callable[[str, int], object]
"""Function that is called with the noun of the exported rows (`label`, `item`) and the number of
rows read so far.
"""
Content = Literal["text", "json", "binary", "folder"]
"""What a format writes: lines of text, lines of JSON, bytes, or a folder.

Only lines are printed to a terminal.
"""


class ExportError(FcreviewError):
    """Raised when an export cannot be written. An existing target is unchanged."""


class Sink(Protocol):
    """Receiver of a file's bytes: an open file, or standard output."""

    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class RunScores:
    """The benchmark's own metrics of a run, as in a report."""

    metrics: Sequence[MetricRow]
    estimates: EstimateByMetric


@dataclass(frozen=True, slots=True)
class BenchmarkServices:
    """Functions of the importers that some formats need.

    They are passed in, because exporters import no importers.
    """

    find_plan: Callable[[Run], RunPlan]
    """Find the files of a run. Raises FcreviewError if the files no longer exist."""
    rewrite_scores: Callable[
        [RunPlan, Sequence[ScoredItem]], Iterator[RewrittenFile | Unrepresentable]
    ]
    """Write the verdicts of the items into the contents of the run's score files."""
    find_summary_files: Callable[[RunPlan], list[Path]]
    """Return the files with the metrics that the benchmark's own program computed from the score
    files.
    """
    explain_golden_fix_rejection: Callable[[Run, Item, dict[str, Any]], str | None]
    """Describe the error in a golden fix for an item, or return None if the fix is valid."""
    rewrite_golden: Callable[
        [RunPlan, dict[tuple[str, str], dict[str, Any]]],
        Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable],
    ]
    """Apply golden fixes to the files of a run. The fixes are by (category, item id)."""
    print_message: Callable[[str], None]
    write_reviewed_logs: (
        Callable[
            [RunPlan, Sequence[ReviewedVerdict], Sequence[ScoredItem]],
            Iterator[RewrittenFile | Unrepresentable],
        ]
        | None
    ) = None
    """Return copies of a run's logs with the verdicts of annotators.

    `plan.run` is the run as it was imported.
    """
    parse_golden_fix: Callable[[Run, Item, dict[str, Any]], list[Call]] = lambda _, __, ___: []
    """Return the golden calls of a golden fix."""
    rescore: Rescorer | None = None
    """Recompute the verdict on an item with a golden fix."""
    execute_golden: (
        Callable[[str, dict[str, Any], dict[str, Any]], GoldenExecution | None] | None
    ) = None
    """Execute a corrected golden answer, given benchmark, question and changed fields.

    Returns None if there is nothing to execute. Raises GoldenExecutionError.
    """
    score_runs: Callable[[Store], Mapping[int, RunScores]] | None = None
    """Compute the metrics of all runs of the session, by run number."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    name: str
    help: str
    content: Content
    load: Callable[[], Callable[[ExportSource, Any], None]]
    """Import the format's module and return its function that writes to a `Sink`, or to a
    folder.
    """
    read: Callable[[], Callable[[bytes], Iterator[ImportedReview | InvalidRecord]]] | None = None
    """Return the function that reads reviews from a file of this format.

    None if the format cannot be imported.
    """
    options: tuple[str, ...] = ()
    """Names of the options of `fcreview export` that this format has and others lack.

    The help of the command, its refusals and the form of the app follow from these names.
    """

    @property
    def writes_runs(self) -> bool:
        """Whether the format exports complete runs, so that options that select items do not
        apply.
        """
        return not set(ITEM_OPTIONS) & set(self.options)


class ExportSource:
    """Access to the items and labels of a view, which can be read more than once. Methods that read
    them raise StoreError in blind mode and FilterError for an invalid filter.
    """

    def __init__(
        self,
        store: Store,
        view: View,
        selection: LabelSelection,
        benchmarks: BenchmarkServices | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Prepare an export. Nothing is read from the store yet."""
        self.store = store
        self.view = view
        self.selection = selection
        """The labels to export, and their fields."""
        self.counts: dict[str, int] = {}
        """Number of exported rows by noun: {"label": 5}.

        Reading the rows again restarts the count at 0.
        """
        self.make_card: Callable[[str], str] | None = None
        """Function that takes the name of the export file and returns the text of its dataset card.
        None without a card.
        """
        self.make_manifest: Callable[[], dict[str, Any]] | None = None
        """Function that returns the JSON object of the manifest of the exported file. None without
        a manifest.
        """
        self._benchmarks = benchmarks
        self._on_progress = on_progress

    @property
    def benchmark_services(self) -> BenchmarkServices:
        """Importer functions. Raises ExportError if the caller passed none."""
        if self._benchmarks is None:
            raise ExportError(
                "this format needs the benchmark's files. Use the command fcreview export."
            )
        return self._benchmarks

    def print_note(self, text: str) -> None:
        """Print a message about the export, if the caller passed a function for messages."""
        if self._benchmarks is not None:
            self._benchmarks.print_message(text)

    @property
    def runs(self) -> list[RunRow]:
        """Runs with items in the view. The counts of a run cover all items of the run."""
        run_facets = self.store.fetch_facets(self.view)["run"]
        run_numbers = {number for number, _ in run_facets}
        return [row for row in self.store.fetch_runs() if str(row.run) in run_numbers]

    @property
    def label_field_types(self) -> dict[str, DuckDBType]:
        """Type of each field of a label, in the order of the exported fields."""
        from fcreview.store.label_fields import label_field_types

        return label_field_types(with_content=self.selection.with_content)

    def iter_label_chunks(self) -> Iterator[list[Label]]:
        """Yield lists of labels.

        All labels of an item are in the same list, the label of the whole item first.
        """
        return map(_parse_labels, _prefetch(self.iter_label_json_chunks()))

    def iter_label_json_chunks(self) -> Iterator[list[str]]:
        """Yield lists of labels as JSON text, which is faster to write than parsed labels."""
        return self._count_and_report_rows(
            "label", self.store.iter_label_batches(self.view, self.selection)
        )

    def iter_item_chunks(self) -> Iterator[list[ItemDetail]]:
        """Yield lists of complete items with their reviews, ordered by run and then by position
        in the dataset.
        """
        return self._count_and_report_rows("item", self.store.iter_details(self.view))

    def _count_and_report_rows(self, noun: str, chunks: Iterator[list[T]]) -> Iterator[list[T]]:
        """Yield the chunks unchanged, and count their rows for the progress display. `noun` says
        what the rows are, such as `items`.
        """
        # This uses `map`, because a generator would keep a chunk in memory while it reads the next
        # chunk.
        self.counts[noun] = 0

        def report_chunk(chunk: list[T]) -> list[T]:
            self.counts[noun] += len(chunk)
            if self._on_progress is not None:
                self._on_progress(noun, self.counts[noun])
            return chunk

        return map(report_chunk, chunks)


def _parse_labels(lines: Sequence[str]) -> list[Label]:
    return [orjson.loads(line) for line in lines]


def _prefetch(chunks: Iterator[T]) -> Iterator[T]:
    """Yield the chunks. The next one is read in a thread while the caller uses the current one.

    This saves time, because DuckDB releases the interpreter lock while it reads.
    """

    def read_next_chunk() -> T | None:
        """Return the next chunk, or None after the last one."""
        return next(chunks, None)

    with ThreadPoolExecutor(1) as thread:
        next_chunk = thread.submit(read_next_chunk)
        while True:
            chunk = next_chunk.result()
            if chunk is None:
                return
            next_chunk = thread.submit(read_next_chunk)
            yield chunk


def _make_lazy_import(function_path: str) -> Callable[[], Any]:
    module, function = function_path.split(".")
    return lambda: getattr(importlib.import_module(f"fcreview.exporters.{module}"), function)


ITEM_OPTIONS = ("where", "queue")
"""Options of formats that can export a part of the items."""
LABEL_OPTIONS = (*ITEM_OPTIONS, "only", "with")
"""Options of formats with labels."""
TRAINING_OPTIONS = (*ITEM_OPTIONS, "agreed", "split", "decontaminate", "flavour")
"""Options of formats with training rows."""
REPLY_OPTIONS = (
    *TRAINING_OPTIONS,
    "trust-rule",
    "exclude-benchmark-goldens",
    "include-incidents",
)
"""Options of formats with training rows that depend on the verdicts of annotators."""

FORMATS = (
    ExportFormat(
        "jsonl",
        help="JSON Lines with one label per line",
        content="json",
        load=_make_lazy_import("label_files.write_jsonl"),
        read=_make_lazy_import("label_files.read_jsonl"),
        options=LABEL_OPTIONS,
    ),
    ExportFormat(
        "csv",
        help="CSV with one label per row, for spreadsheets",
        content="text",
        load=_make_lazy_import("label_files.write_csv"),
        read=_make_lazy_import("label_table.read_csv"),
        options=LABEL_OPTIONS,
    ),
    ExportFormat(
        "parquet",
        help="Parquet with one label per row, for DuckDB and pyarrow",
        content="binary",
        load=_make_lazy_import("label_files.write_parquet"),
        options=LABEL_OPTIONS,
    ),
    ExportFormat(
        "labelstudio",
        help="Label Studio tasks with predictions and annotations",
        content="json",
        load=_make_lazy_import("label_studio.write_tasks"),
        read=_make_lazy_import("label_studio.read_tasks"),
        options=LABEL_OPTIONS,
    ),
    ExportFormat(
        "hf",
        help="a Hugging Face dataset folder with a dataset card",
        content="folder",
        load=_make_lazy_import("label_files.write_hugging_face"),
        options=LABEL_OPTIONS,
    ),
    ExportFormat(
        "atif",
        help="ATIF 1.7 trajectories with verdicts and reviews, one file for each item",
        content="folder",
        load=_make_lazy_import("atif.write_trajectories"),
        options=ITEM_OPTIONS,
    ),
    ExportFormat(
        "generic",
        help="items in the generic format: messages, calls, results, tools and golden calls",
        content="folder",
        load=_make_lazy_import("generic.write_runs"),
        options=ITEM_OPTIONS,
    ),
    ExportFormat(
        "sft",
        help="training data: conversations that annotators passed or corrected, for TRL or OpenAI",
        content="json",
        load=_make_lazy_import("training.write_sft_rows"),
        options=REPLY_OPTIONS,
    ),
    ExportFormat(
        "preference",
        help="training data: a right and a wrong reply to the same messages, for TRL or OpenAI",
        content="json",
        load=_make_lazy_import("training.write_preference_pairs"),
        options=(*REPLY_OPTIONS, "max-pairs"),
    ),
    ExportFormat(
        "kto",
        help="training data: single replies that are labelled right or wrong, for TRL's KTO",
        content="json",
        load=_make_lazy_import("training.write_kto_rows"),
        options=REPLY_OPTIONS,
    ),
    ExportFormat(
        "rewards",
        help="training data: all answers with their automatic verdict, and whether to trust it",
        content="json",
        load=_make_lazy_import("training.write_reward_rows"),
        options=TRAINING_OPTIONS,
    ),
    ExportFormat(
        "inspect",
        help="copies of Inspect logs whose scores are edited to match the reviews",
        content="folder",
        load=_make_lazy_import("inspect_log.write_reviewed_logs"),
        options=("check",),
    ),
    ExportFormat(
        "tau2-notes",
        help="notes for the viewer of tau2-bench, one file for each review",
        content="folder",
        load=_make_lazy_import("native.write_notes"),
        options=ITEM_OPTIONS,
    ),
    ExportFormat(
        "native",
        help="copies of the benchmark's own files, with reviewed verdicts in the score files",
        content="folder",
        load=_make_lazy_import("native.write_benchmark_files"),
    ),
    ExportFormat(
        "eee",
        help="figures of runs with 95 % intervals, as records of Every Eval Ever",
        content="folder",
        load=_make_lazy_import("every_eval_ever.write_records"),
        options=("organization", "developer"),
    ),
    ExportFormat(
        "golden-patch",
        help="golden fixes as a patch of the dataset, and a report for its maintainers",
        content="folder",
        load=_make_lazy_import("golden_patch.write_golden_patch"),
    ),
)
EXPORTERS = {each.name: each for each in FORMATS}


def find_formats_with_option(option: str) -> frozenset[str]:
    """Return the names of the formats that have an option. Every format has an option that none of
    them declares, such as `output`.
    """
    declaring = frozenset(each.name for each in FORMATS if option in each.options)
    return declaring or frozenset(EXPORTERS)


def name_formats_with_option(option: str, conjunction: str = "and") -> str:
    """Return the names of the formats that have an option as text, such as `sft, kto and rewards`.

    They are in the order of `FORMATS`.
    """
    names_with_option = find_formats_with_option(option)
    *names, last_name = [each.name for each in FORMATS if each.name in names_with_option]
    if not names:
        return last_name
    return f"{', '.join(names)} {conjunction} {last_name}"
