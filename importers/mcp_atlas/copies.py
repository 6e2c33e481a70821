"""Find files of outputs whose records a scored file repeats: the scorer copies all columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.common.csv_records import CsvRecord, read_csv_records
from fcreview.importers.mcp_atlas import columns


@dataclass(frozen=True, slots=True)
class ScoredCopy:
    """A scored file that repeats records of a file of outputs."""

    path: Path
    n_records: int
    """Number of all records in the file of outputs."""
    lines: frozenset[int] = frozenset()
    """Lines of the outputs that have a scored copy. Failed requests are never among them, because
    those of two models have equal texts.
    """
    is_complete: bool = True
    """Whether all records of the file of outputs have a copy, so that it needs no run."""


@dataclass(frozen=True, slots=True)
class _Output:
    """What identifies one output of a model."""

    task_id: str
    digest: bytes
    """Digest of the conversation, or else of the answer."""


@dataclass(slots=True)
class _OutputsOfFile:
    outputs: set[_Output]
    lines_by_output: dict[_Output, int] = field(default_factory=dict)
    """Line of each output with a conversation."""
    n_records: int = 0
    has_conversation: bool = False
    is_readable: bool = True
    """Whether all records could be read."""


def find_scored_copies(
    output_files: Sequence[Path], scored_files: Sequence[Path]
) -> dict[Path, ScoredCopy]:
    """Find the files of outputs whose records a scored file repeats, and the best copy of each.

    A file without any conversation has no copy, because failed requests of two models have equal
    texts.
    """
    copy_by_file: dict[Path, ScoredCopy] = {}
    if not output_files:
        return copy_by_file

    scored_by_path = {path: _read_outputs(path) for path in scored_files}
    for output_file in output_files:
        outputs = _read_outputs(output_file)
        if not outputs.has_conversation or not outputs.is_readable:
            continue
        candidates = [_compare(outputs, path, scored) for path, scored in scored_by_path.items()]
        best = max(candidates, key=lambda copy: (copy.is_complete, len(copy.lines)), default=None)
        if best is not None and best.lines:
            copy_by_file[output_file] = best
    return copy_by_file


def _compare(written: _OutputsOfFile, scored_path: Path, scored: _OutputsOfFile) -> ScoredCopy:
    """Return which outputs of a file the scored file repeats."""
    lines = {line for output, line in written.lines_by_output.items() if output in scored.outputs}
    return ScoredCopy(
        scored_path,
        written.n_records,
        lines=frozenset(lines),
        is_complete=written.outputs <= scored.outputs,
    )


def _read_outputs(path: Path) -> _OutputsOfFile:
    """Read which outputs (task, model and answer) a file contains, so that files with the same
    outputs can be recognised as copies.
    """
    found = _OutputsOfFile(set())
    for record in read_csv_records(path):
        if not isinstance(record, CsvRecord):
            found.is_readable = found.is_readable and record.severity != "error"
            continue
        found.n_records += 1
        output = _identify_output(record)
        found.outputs.add(output)
        if _find_conversation(record):
            found.has_conversation = True
            found.lines_by_output[output] = record.line
    return found


def _identify_output(record: CsvRecord) -> _Output:
    text = _find_conversation(record) or "\n".join(_list_answers(record))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _Output(columns.get_task_id(record.cells), digest)


def _find_conversation(record: CsvRecord) -> str:
    """Return the conversation of a record. Empty for a failed request, also as an empty list."""
    for name in (columns.CONVERSATION, columns.OLD_TRAJECTORY):
        text = record.cells.get(name, "").strip()
        if text not in ("", "[]"):
            return text
    return ""


def _list_answers(record: CsvRecord) -> Iterator[str]:
    for name in columns.RESPONSES:
        answer = record.cells.get(name, "").strip()
        if answer:
            yield answer
