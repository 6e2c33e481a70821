"""Choose which logs of a task to import.

Logs with the same task id and model are attempts at the same thing: a retry copies the finished
samples, so only one attempt is imported and no sample counts twice. A finished log beats an
unfinished one, then more samples, then the later start. An attempt may have several copies: a copy
that people edited replaces the original, whose scores it contains, but a re-scored copy has other
scores, so both are imported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.common.writeback import JsonObject
from fcreview.importers.inspect.found_logs import ChosenLog, FoundLog, SkippedLog
from fcreview.importers.inspect.json_stream import JsonStreamError
from fcreview.importers.inspect.log import SUMMARIES, ArchiveReader, InspectLog, open_log
from fcreview.importers.inspect.log_start import SAMPLE_FOLDER, UnreadableLog
from fcreview.importers.inspect.sample import LogSample, parse_json
from fcreview.importers.inspect.scores import to_json_value
from fcreview.model.json_value import to_json_text
from fcreview.safe_files import (
    SIGNATURE,
    open_archive,
    open_file,
    read_file,
)

MAX_SUMMARY_BYTES = 64 << 20
MAX_COMPARED_BYTES = 64 << 20
"""Maximum size, in bytes, of a `.json` log whose samples are read to compare it with another
copy.
"""
MAX_COMPARED_COPIES = 20
"""Number of copies with different scores to which another copy is compared."""
MAX_CHECKED_SAMPLES = 5
"""Number of samples with other scores in which edits are searched for."""

SampleScores = Mapping[str, str]
"""Name of a score -> its value as JSON text."""
SampleKey = tuple[str, int]
"""Id as JSON text, and epoch."""


def choose_attempt(attempts: Sequence[FoundLog]) -> list[ChosenLog]:
    """Choose the best of several attempts at a run, and note why the others are skipped.

    The best attempt can exist as several copies, in which other scorers ran. Of the copies with
    the same scores, one is chosen.
    """
    candidates = [_Candidate.read(log) for log in attempts]
    best = max(candidates, key=lambda candidate: candidate.attempt_rank)
    copies: list[_Candidate] = []
    skipped: list[SkippedLog] = []
    for candidate in candidates:
        if _is_copy(candidate, best):
            copies.append(candidate)
        else:
            reason = _explain_skipped_attempt(candidate, best)
            skipped.append(SkippedLog(candidate.log.path, reason))

    chosen = [_choose_copy(variant) for variant in _group_copies_by_scores(copies)]
    # One of the chosen logs reports the skipped attempts, before the copies that it skips itself.
    reporting_log = chosen[-1]
    reporting_log.skipped = skipped + reporting_log.skipped
    return chosen


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An attempt, or a copy of one, with the facts by which it is chosen."""

    log: FoundLog
    is_finished: bool
    n_samples: int
    n_score_columns: int
    columns: str
    """The recorded score columns as JSON text."""
    written: tuple[int, ...]
    """Local time of the last change: of the newest member of an archive, else of the file."""

    @classmethod
    def read(cls, log: FoundLog) -> _Candidate:
        """Read from the headers of a log how complete it is: whether its run finished, and how many
        samples and scores it has. A log can consist of several files.

        A log that cannot be read is not finished and has no samples.
        """
        is_finished = bool(log.paths)
        n_samples = 0
        columns: list[Any] = []
        for path in log.paths:
            try:
                with open_log(path) as opened:
                    is_finished = is_finished and _is_finished(opened)
                    n_samples += _count_samples(opened)
                    columns += _list_score_columns(opened)
            except UnreadableLog:
                is_finished = False

        return cls(
            log,
            is_finished=is_finished,
            n_samples=n_samples,
            n_score_columns=len(columns),
            columns=to_json_text(to_json_value(columns)),
            written=_read_time(log),
        )

    @property
    def attempt_rank(self) -> tuple[bool, bool, int, str]:
        """Sort key of attempts: the best one is last. A merged log beats its parts."""
        return not self.log.is_in_parts, self.is_finished, self.n_samples, self.log.created

    @property
    def copy_rank(self) -> tuple[int, bool, tuple[int, ...], str]:
        """Sort key of copies of an attempt: the newest one is last. A file beats an unpacked log,
        because reviews can be written to a copy of a file.
        """
        return self.n_score_columns, not self.log.path.is_dir(), self.written, str(self.log.path)


def _is_finished(log: InspectLog) -> bool:
    return log.has_header and log.header.get("status") == "success"


def _count_samples(log: InspectLog) -> int:
    """Return the number of samples in the file or, if the log was written without samples, in
    its results.
    """
    if log.n_samples:
        return log.n_samples
    completed = as_object(log.header.get("results")).get("completed_samples")
    return completed if isinstance(completed, int) else 0


def _list_score_columns(log: InspectLog) -> list[Any]:
    return as_list(as_object(log.header.get("results")).get("scores"))


def _read_time(log: FoundLog) -> tuple[int, ...]:
    """Return when a log was written: the latest date in its archive, else the date of its file.
    Empty if it cannot be read.

    The date in an archive survives when the file is copied.
    """
    path = log.paths[-1]
    try:
        written: tuple[int, ...] = tuple(time.localtime(path.stat().st_mtime)[:6])
        if path.is_dir():
            return written
        with open_file(path) as file:
            if file.read(len(SIGNATURE)) == SIGNATURE:
                return max(
                    (member.date_time for member in open_archive(file).infolist()), default=()
                )
    except (OSError, ValueError):
        return ()
    return written


def _is_copy(candidate: _Candidate, best: _Candidate) -> bool:
    """Whether a log is a copy of the best attempt, with as many samples."""
    if candidate is best:
        return True
    # A log in parts is what another one was merged from, or a separate attempt.
    if candidate.log.is_in_parts or best.log.is_in_parts:
        return False
    is_same_run = (
        candidate.log.evaluation_id == best.log.evaluation_id
        and candidate.log.created == best.log.created
    )
    is_as_complete = (
        candidate.is_finished == best.is_finished and candidate.n_samples == best.n_samples
    )
    return is_same_run and is_as_complete


def _explain_skipped_attempt(candidate: _Candidate, best: _Candidate) -> str:
    """Explain why an attempt at a task is not imported, compared with the best one, which is."""
    if candidate.log.is_in_parts and not best.log.is_in_parts:
        return "parts of the merged log"
    if best.is_finished and not candidate.is_finished:
        return f"not finished, {candidate.n_samples} samples"
    if candidate.n_samples < best.n_samples:
        return f"{candidate.n_samples} of {best.n_samples} samples"
    if candidate.log.created < best.log.created:
        return "started earlier"
    return "an equal attempt"


def _group_copies_by_scores(copies: Sequence[_Candidate]) -> list[list[_Candidate]]:
    """Group copies with the same scores apart from edits.

    In each group, the newest copy is last.
    """
    reader = _ScoreReader()
    groups: list[list[_Candidate]] = []
    for copy in sorted(copies, key=lambda candidate: candidate.copy_rank):
        same_scores = _find_group_with_same_scores(groups, copy, reader)
        if same_scores is None:
            groups.append([copy])
        else:
            same_scores.append(copy)
    return groups


def _find_group_with_same_scores(
    groups: Sequence[list[_Candidate]], copy: _Candidate, reader: _ScoreReader
) -> list[_Candidate] | None:
    """Return the group of logs whose scores a copy repeats, or None.

    Reading the samples takes long, so it is done only for some groups.
    """
    for index, group in enumerate(groups):
        # Copies with equal columns need no look at their samples.
        if group[0].columns == copy.columns:
            return group
        if index >= MAX_COMPARED_COPIES:
            continue
        if reader.have_same_scores_before_edits(group[0].log.path, copy.log.path):
            return group
    return None


def _choose_copy(copies: Sequence[_Candidate]) -> ChosenLog:
    newest = copies[-1]
    reason = f"a copy of {newest.log.path.name} with the same scores or fewer edits"
    return ChosenLog(newest.log, [SkippedLog(each.log.path, reason) for each in copies[:-1]])


class _ScoreReader:
    """Compares the scores of copies. It reads each log once, because there may be many copies."""

    def __init__(self) -> None:
        self._scores_by_path: dict[Path, dict[SampleKey, SampleScores] | None] = {}
        self._edited_by_path: dict[Path, set[SampleKey]] = {}
        """Path of a log whose samples are no members of an archive -> samples with edits."""

    def have_same_scores_before_edits(self, first: Path, second: Path) -> bool:
        """Whether two copies have the same scores, except in samples that a person edited.

        A person edits few samples and a second scoring changes many. So if the first samples with
        other scores are edited, it is assumed that the others are, too.
        """
        first_scores = self._get_scores(first)
        second_scores = self._get_scores(second)
        if first_scores is None or second_scores is None:
            return False

        keys = first_scores | second_scores
        different = [key for key in keys if first_scores.get(key) != second_scores.get(key)]
        for key in different[:MAX_CHECKED_SAMPLES]:
            is_edited = self._is_edited(first, key) or self._is_edited(second, key)
            if not is_edited:
                return False
        return True

    def _get_scores(self, path: Path) -> dict[SampleKey, SampleScores] | None:
        if path not in self._scores_by_path:
            self._scores_by_path[path] = _read_scores(path)
        return self._scores_by_path[path]

    def _is_edited(self, path: Path, key: SampleKey) -> bool:
        """Whether a person edited a score of a sample."""
        sample_id, epoch = key
        member_name = f"{SAMPLE_FOLDER}{_get_plain_id(sample_id)}_epoch_{epoch}.json"
        text = _read_member(path, member_name, MAX_COMPARED_BYTES)
        if text is not None:
            return _has_edits(as_object(_parse_or_none(text, path)))

        if path not in self._edited_by_path:
            samples = _iterate_samples(path)
            self._edited_by_path[path] = {
                _make_sample_key(each) for each in samples if _has_edits(each)
            }
        return key in self._edited_by_path[path]


def _read_scores(path: Path) -> dict[SampleKey, SampleScores] | None:
    """Return the scores of all samples, from the summaries if there are any.

    None if they cannot be compared: the log is damaged, too large, or a folder without summaries.
    """
    text = _read_member(path, SUMMARIES, MAX_SUMMARY_BYTES)
    if text is not None:
        summaries = _parse_or_none(text, path)
        if summaries is None:
            return None
        return _list_scores_by_key(list_objects(summaries))

    # Now all samples must be read, which is done only for one file of limited size.
    try:
        if path.is_dir() or path.stat().st_size > MAX_COMPARED_BYTES:
            return None
    except OSError:
        return None
    return _list_scores_by_key(_iterate_samples(path))


def _parse_or_none(text: bytes, path: Path) -> Any:
    try:
        return parse_json(text, path, [])
    except JsonStreamError:
        return None


def _list_scores_by_key(samples: Iterable[JsonObject]) -> dict[SampleKey, SampleScores]:
    return {_make_sample_key(sample): _list_score_values(sample) for sample in samples}


def _iterate_samples(path: Path) -> Iterator[JsonObject]:
    """Yield the samples of a log that can be read. None of a log that cannot."""
    try:
        with open_log(path) as log:
            for sample in log.read_samples():
                if isinstance(sample, LogSample):
                    yield sample.value
    except UnreadableLog:
        return


def _make_sample_key(sample: Mapping[str, Any]) -> SampleKey:
    epoch = sample.get("epoch")
    return to_json_text(sample.get("id")), epoch if isinstance(epoch, int) else 1


def _list_score_values(sample: Mapping[str, Any]) -> SampleScores:
    scores = as_object(sample.get("scores")).items()
    return {
        name: to_json_text(to_json_value(as_object(score).get("value"))) for name, score in scores
    }


def _get_plain_id(id_text: str) -> str:
    value = json.loads(id_text)
    return value if isinstance(value, str) else id_text


def _has_edits(sample: Mapping[str, Any]) -> bool:
    for score in as_object(sample.get("scores")).values():
        for entry in list_objects(as_object(score).get("history")):
            if isinstance(entry.get("provenance"), dict):
                return True
    return False


def _read_member(path: Path, name: str, max_bytes: int) -> bytes | None:
    """Return a member of an archive, or a file of an unpacked log.

    None if it is missing or too large.
    """
    try:
        if path.is_dir():
            return read_file(path / name, max_bytes)
        with open_file(path) as file:
            if file.read(len(SIGNATURE)) != SIGNATURE:
                return None
            reader = ArchiveReader.open(file)
            member = reader.members.get(name)
            if member is None or member.file_size > max_bytes:
                return None
            return reader.read_member(name, max_bytes)
    except (OSError, ValueError):
        return None
