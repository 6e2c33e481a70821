"""Read labels from a file, and record them as reviews."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.options import (
    option,
)
from fcreview.cli.output import emit, emit_json
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import resolve_mapping_file
from fcreview.errors import CommandError
from fcreview.exporters.base import FORMATS
from fcreview.model.review import FAULTS, Annotation, Fault
from fcreview.model.wording import format_count
from fcreview.run_plan import SearchOptions

if TYPE_CHECKING:
    from fcreview.model.item import Item, Run
    from fcreview.store.label_import import ImportedReview, InvalidRecord, LabelImportResult


DEFAULT_SEARCH = SearchOptions()
MAX_INPUT_BYTES = 1 << 30  # size limit of input files
RUN_FORMAT = "inspect"  # format of files that contain a run with human reviews
NOTES_FORMAT = "tau2-notes"  # format of notes on simulations of a run
MAPPING_FORMAT = "mapping"  # mapping file that names the verdicts of people
READERS = {each.name: each.read for each in FORMATS if each.read}
# what error messages call a record of a format, if not `line`
RECORD_UNITS = {
    "labelstudio": "task",
    "csv": "row",
}
AdjudicateOption = Annotated[
    bool, option("--adjudicate", "Record adjudications, which resolve disagreements.")
]


def _read_labels(file: Path, format_name: str) -> list[ImportedReview | InvalidRecord]:
    """Read the reviews in a file of a format such as CSV. A line that cannot be read is an
    InvalidRecord.
    """
    try:
        content = read_limited_file(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    load_reader = READERS[format_name]
    read = load_reader()
    return list(read(content))


def _read_reviews_in_runs(
    paths: Sequence[Path], benchmark: str, search: SearchOptions = DEFAULT_SEARCH
) -> list[ImportedReview | InvalidRecord]:
    """Read the reviews that the files of runs contain, such as the score edits of an Inspect log.

    Raises CommandError if there is no run at the paths.
    """
    from fcreview.importers.registry import discover, read_items
    from fcreview.model.item import Item

    discovered = discover(paths, format=benchmark, search=search)
    if not discovered.plans:
        errors = [issue.what for issue in discovered.issues if issue.severity == "error"]
        raise CommandError("\n".join(errors))

    reviews: list[ImportedReview | InvalidRecord] = []
    for plan in discovered.plans:
        for item in read_items(plan):
            if isinstance(item, Item):
                reviews += _convert_recorded_reviews(plan.run, item)
    return reviews


def _convert_recorded_reviews(run: Run, item: Item) -> Iterator[ImportedReview]:
    """Convert the reviews that an item of a log contains to reviews of a label file."""

    from fcreview.store.label_import import ImportedReview, normalize_time

    key_fields = {
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "model": run.model,
        "category": item.category,
        "id": item.id,
    }
    for recorded in item.extra.recorded_reviews:
        annotation = Annotation(
            target=recorded.target,
            criterion=recorded.criterion,
            verdict=recorded.verdict,
            note=recorded.reason,
            fault=_find_fault(recorded.fault),
            tags=recorded.tags or None,
        )
        yield ImportedReview(
            item.line,
            key_fields=key_fields,
            annotation=annotation,
            annotator=recorded.author,
            time=normalize_time(recorded.time or ""),
            prediction_hash=item.prediction_hash,
            exported_events=tuple(recorded.events),
        )


def _find_fault(name: str | None) -> Fault | None:
    """Return the fault with a name; None for any other text."""
    for fault in FAULTS:
        if fault == name:
            return fault
    return None


def record_labels(
    session: WorkspaceSession,
    file: Path,
    format: str = "jsonl",  # noqa: A002
    source_annotator: str | None = None,
    *,
    adjudicate: bool = False,
    run: str | None = None,
    mark_untimed_not_blind: bool = False,
    as_json: bool = False,
) -> None:
    """Record the reviews of a label file in the annotator's journal, and print how many there are.

    Args:
        source_annotator: Name of the annotator in the file, if it differs.
        adjudicate: Whether to record them as adjudications.
        mark_untimed_not_blind: Whether to record a review without a time as not blind, instead of
            as unknown.
    """
    from fcreview.store.label_import import (
        ReviewFile,
        import_reviews,
        mark_not_blind,
        to_adjudication,
    )

    reviews = _read_reviews(session, file, format)
    if mark_untimed_not_blind:
        reviews = [mark_not_blind(review) for review in reviews]
    if adjudicate:
        reviews = [to_adjudication(review) for review in reviews]
    source = ReviewFile(
        file.name,
        records=reviews,
        unit=RECORD_UNITS.get(format, "line"),
        run_number=session.find_run_number(run) if run is not None else None,
        preferred_runs=session.scope,
    )
    result = import_reviews(session.store, session.open_journal(), source, source_annotator)

    if as_json:
        emit_json(asdict(result) | {"written": len(result.written)})
    else:
        _print_import_result(result, session.annotator)


def _print_import_result(result: LabelImportResult, annotator: str) -> None:
    """Print how many reviews were written, and how many were skipped, with the reasons."""
    emit(f"wrote {format_count(len(result.written), 'review')} by {annotator}")
    if result.already:
        emit(f"skipped {format_count(result.already, 'review')}: already recorded")
    if result.older:
        n_older = format_count(result.older, "review")
        emit(f"skipped {n_older}: the workspace has newer reviews by {annotator}")


def _read_reviews(
    session: WorkspaceSession, file: Path, format_name: str
) -> list[ImportedReview | InvalidRecord]:
    """Read the reviews of a file in any of the formats.

    Lines that are no valid review are returned as invalid records.
    """
    if format_name == RUN_FORMAT:
        return _read_reviews_in_runs([file], format_name)
    if format_name == NOTES_FORMAT:
        # Notes name simulations of the runs, so the runs are read with them.
        paths = [Path(row.info.path) for row in session.runs if row.info.benchmark == "tau"]
        return _read_reviews_in_runs([*paths, file], "tau")
    if format_name == MAPPING_FORMAT:
        return _read_mapped_reviews(session, file)
    return _read_labels(file, format_name)


def _read_mapped_reviews(
    session: WorkspaceSession, file: Path
) -> list[ImportedReview | InvalidRecord]:
    """Read the verdicts of people that a mapping file names, from the files of the runs."""
    mapping_file = resolve_mapping_file(str(file))
    search = SearchOptions(mapping_file=mapping_file)
    paths = [Path(row.info.path) for row in session.runs]
    return _read_reviews_in_runs(paths, MAPPING_FORMAT, search)


def read_limited_file(path: Path) -> bytes:
    """Read a file or pipe.

    Raises OSError after `MAX_INPUT_BYTES`, because reading a device may never end.
    """
    error = OSError(
        errno.EFBIG, f"the file has more than {MAX_INPUT_BYTES:,} bytes", os.fspath(path)
    )
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_INPUT_BYTES:
            raise error
        # A pipe or device has the size 0, and a file may grow.
        content = file.read(MAX_INPUT_BYTES + 1)
    if len(content) > MAX_INPUT_BYTES:
        raise error
    return content
