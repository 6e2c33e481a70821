"""`fcreview import-labels`: record the labels of a file as reviews."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.label_recording import (
    MAPPING_FORMAT,
    NOTES_FORMAT,
    READERS,
    RUN_FORMAT,
    AdjudicateOption,
    record_labels,
)
from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WorkspaceOptions,
    argument,
    option,
    workspace_command,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError

if TYPE_CHECKING:
    pass

OTHER_FORMATS = (RUN_FORMAT, NOTES_FORMAT, MAPPING_FORMAT)


@workspace_command("annotator")
def import_labels(
    options: WorkspaceOptions,
    file: Annotated[Path, argument("FILE", "File with exported labels.")],
    format: Annotated[  # noqa: A002
        str,
        option("--format NAME", f"Format of the file: {', '.join([*READERS, *OTHER_FORMATS])}."),
    ] = "jsonl",
    source_annotator: Annotated[
        str | None,
        option(
            "--said-by NAME", "Name of the annotator in the file, if it differs from --annotator."
        ),
    ] = None,
    adjudicate: AdjudicateOption = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import exported labels as reviews.

    Records the reviews for --annotator (default: you). If a line is invalid, nothing is recorded.
    Reviews that the workspace already has are skipped. With --format inspect, FILE is an Inspect
    log whose score edits are imported. With --format tau2-notes, FILE is a note or a folder of
    notes. With --format mapping, FILE is a mapping file with [[human]], and PATH has its runs.

    Example: fcreview import-labels runs/gpt4o labels.jsonl --annotator alice
    """
    if format not in (*READERS, *OTHER_FORMATS):
        raise UsageError(
            f"fcreview cannot import the format {format!r}. Choose"
            f" {', '.join([*READERS, *OTHER_FORMATS])}"
        )
    with open_workspace(options) as session:
        record_labels(
            session, file, format, source_annotator, adjudicate=adjudicate, run=run, as_json=as_json
        )
