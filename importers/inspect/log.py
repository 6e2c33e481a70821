"""Read one Inspect log: first the header, then the samples one by one, in the order of the dataset
and of epochs.

An `.eval` log is a ZIP archive with a member for each sample. A `.json` log is one object with a
list of samples. An unpacked log is a folder with the members of an archive. A sample may contain
hundreds of megabytes of events, so fcreview reads only the fields of a large sample that items
need.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from fcreview.importers.common.budgets import (
    MAX_ITEM_TEXT,
    ArchiveBudget,
    ArchiveBudgetError,
    check_member_size,
)
from fcreview.importers.common.json_text import has_long_integer
from fcreview.importers.common.jsonl import MAX_VALUES, count_values, make_excerpt
from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.events import EventData
from fcreview.importers.inspect.json_stream import JsonStream, JsonStreamError
from fcreview.importers.inspect.log_start import (
    HEADER,
    SAMPLE_FOLDER,
    START,
    UnreadableLog,
    list_unpacked_samples,
)
from fcreview.importers.inspect.sample import (
    MAX_WHOLE_BYTES,
    LogSample,
    fill_sample_from_stream,
    fill_sample_from_text,
    list_names,
    parse_json,
)
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count
from fcreview.safe_files import (
    SIGNATURE,
    ArchiveError,
    open_archive,
    open_file,
    open_member,
    read_file,
    read_first_member,
)

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

SUMMARIES = "summaries.json"
JOURNAL_SUMMARIES = "_journal/summaries/"
MAX_FIELD_BYTES = MAX_ITEM_TEXT
"""Maximum size, in bytes, of the fields of a large sample together.

A field that does not fit is omitted.
"""
MAX_HEADER_BYTES = 64 << 20
MAX_START_BYTES = 1 << 20
MAX_ID_BYTES = 1 << 16
_SAMPLE_NAME = re.compile(rf"{SAMPLE_FOLDER}(?P<id>.*)_epoch_(?P<epoch>\d{{1,9}})\.json", re.DOTALL)
_MISPLACED_NAME = re.compile(r"_epoch_\d{1,9}\.json$")


@dataclass(slots=True)
class InspectLog:
    """An open log. `read_samples` may be called only once."""

    path: Path
    header: dict[str, Any]
    has_header: bool
    """Whether the log has a final header.

    It is missing in an `.eval` log whose run is active or has crashed.
    """
    read_samples: Callable[[], Iterator[LogSample | ImportIssue]]
    n_samples: int
    read_scores: Callable[[], Iterator[dict[str, Any]]]
    """Yields the field `scores` of each sample: from the summaries of the log or, without them,
    from the samples.
    """
    archive: ArchiveLog | None = None
    """The log in an archive, whose samples can be read in any order; None for other logs."""


def read_eval_fields(path: Path) -> dict[str, Any]:
    """Return the object `eval` of a log, which describes the run, without reading the samples.

    A log is an archive or a JSON file. The first member of an archive normally contains the object,
    so it is read first. Raises UnreadableLog.
    """
    try:
        with open_file(path) as file:
            eval_fields = _read_eval_of_first_member(file, path)
            if eval_fields is not None:
                return eval_fields
            if not _is_archive(file):
                return _read_eval_of_json_log(file, path)
    except (OSError, ValueError) as error:
        raise UnreadableLog(str(error)) from error

    # The first member of this archive does not contain the object, but the header does.
    with open_log(path) as log:
        return as_object(log.header.get("eval"))


def _read_eval_of_first_member(file: BinaryIO, path: Path) -> dict[str, Any] | None:
    """Return the object `eval` in the first member of an archive.

    Returns None if the file is no archive, or another member comes first.
    """
    text = read_first_member(file, START.encode(), MAX_START_BYTES)
    if text is None:
        return None
    value = _parse_object(text, path, []).get("eval")
    return value if isinstance(value, dict) else None


def _is_archive(file: BinaryIO) -> bool:
    """Whether a file is an archive. Afterwards, the file is at its start."""
    file.seek(0)
    signature = file.read(len(SIGNATURE))
    file.seek(0)
    return signature == SIGNATURE


def _read_eval_of_json_log(file: BinaryIO, path: Path) -> dict[str, Any]:
    stream = _make_json_stream(file)
    for key in stream.iterate_keys():
        if key == "eval":
            return _parse_object(stream.read_value(MAX_HEADER_BYTES) or b"", path, [])
        stream.skip_value()
    return {}


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[InspectLog]:
    """Open a log and read its header, to use it in a `with` statement.

    `path` is an archive, a JSON file, or the folder of an unpacked archive. Raises UnreadableLog,
    also if the file cannot be read later, inside the `with` statement.
    """
    if path.is_dir():
        try:
            yield _open_unpacked_log(path)
        except (OSError, ValueError) as error:
            raise UnreadableLog(str(error)) from error
        return

    try:
        file = open_file(path)
    except OSError as error:
        raise UnreadableLog(f"{error.strerror or error}") from error
    with file:
        try:
            if _is_archive(file):
                yield _open_archive_log(file, path)
            else:
                yield _open_json_log(file, path)
        except (OSError, ValueError) as error:
            raise UnreadableLog(str(error)) from error


def _open_archive_log(file: BinaryIO, path: Path) -> InspectLog:
    return ArchiveLog.open(path, ArchiveReader.open(file)).as_inspect_log()


@dataclass(frozen=True, slots=True)
class ArchiveReader:
    """Reads the members of an open archive, within its budget."""

    archive: ZipFile
    budget: ArchiveBudget

    @classmethod
    def open(cls, file: BinaryIO) -> ArchiveReader:
        n_compressed = file.seek(0, io.SEEK_END)
        file.seek(0)
        return cls(open_archive(file), ArchiveBudget.for_archive(n_compressed))

    @property
    def members(self) -> dict[str, ZipInfo]:
        """Name -> member. If several members have the same name, the last one counts."""
        return self.archive.NameToInfo

    def read_member(self, name: str, max_bytes: int) -> bytes:
        """Return at most the first `max_bytes` bytes of a member. Raises ArchiveError."""
        return self.open_member(name)(max_bytes)

    def open_member(self, name: str) -> Callable[[int], bytes]:
        """Return a function that reads the next bytes of a member. Both raise ArchiveError."""
        # A member that says that it is too large costs nothing of the budget.
        check_member_size(self.members[name].file_size)
        return self.budget.limit_reading(open_member(self.archive, self.members[name]).read)


@dataclass(frozen=True, slots=True)
class ArchiveLog:
    """A log in an archive, with a member for each sample."""

    path: Path
    reader: ArchiveReader
    header: dict[str, Any]
    has_header: bool
    sample_names: list[str]
    """Names of the members with samples, in the order of the archive."""

    @classmethod
    def open(cls, path: Path, reader: ArchiveReader) -> ArchiveLog:
        """Read the header of an archive, which is missing if the run has not finished.

        Raises UnreadableLog.
        """
        has_header = HEADER in reader.members
        header_name = HEADER if has_header else START
        if header_name not in reader.members:
            raise UnreadableLog("the archive has neither header.json nor _journal/start.json")
        header = _parse_object(reader.read_member(header_name, MAX_HEADER_BYTES), path, [])
        sample_names = [name for name in reader.members if is_sample_file(name)]
        return cls(path, reader, header=header, has_header=has_header, sample_names=sample_names)

    def as_inspect_log(self) -> InspectLog:
        """Return the log in the form that is the same for all kinds of logs."""
        return InspectLog(
            self.path,
            header=self.header,
            has_header=self.has_header,
            read_samples=self.read_samples,
            n_samples=len(self.sample_names),
            read_scores=self.read_scores,
            archive=self,
        )

    @property
    def ordered_names(self) -> list[str]:
        """Names of the members with samples, in the order of the dataset."""
        return sort_sample_files(self.sample_names, self.header)

    @property
    def has_summaries(self) -> bool:
        """Whether the run finished, so that the scores of all samples are in one member."""
        return self.has_header and SUMMARIES in self.reader.members

    def read_samples(self) -> Iterator[LogSample | ImportIssue]:
        """Yield the samples of an archive in the order of the dataset, and issues."""
        yield from self.report_misplaced_samples()
        yield from self.read_members(self.ordered_names)

    def report_misplaced_samples(self) -> Iterator[ImportIssue]:
        return _report_misplaced_samples(self.path, list(self.reader.members))

    def read_members(self, names: Sequence[str]) -> Iterator[LogSample | ImportIssue]:
        """Yield the samples in some members, and issues.

        A sample that cannot be read is skipped. If the archive unpacks to more than is allowed, all
        later samples are skipped. The line of a sample is its number in the archive.
        """
        infos = self.reader.archive.infolist()
        line_by_offset = {info.header_offset: line for line, info in enumerate(infos, 1)}
        for index, name in enumerate(names):
            line = line_by_offset.get(self.reader.members[name].header_offset, 1)
            try:
                sample = self._read_sample(name, line)
            except ArchiveBudgetError as error:
                yield self._make_budget_issue(error, line, n_skipped=len(names) - index)
                return
            except (ArchiveError, JsonStreamError) as error:
                what = f"the member {name} was skipped: {error}"
                yield ImportIssue(str(self.path), line, what=what, item=name, severity="error")
                continue
            yield sample

    def _make_budget_issue(
        self, error: ArchiveBudgetError, line: int, *, n_skipped: int
    ) -> ImportIssue:
        samples = format_count(n_skipped, "sample was", "samples were")
        what = f"{samples} skipped: {error}"
        return ImportIssue(str(self.path), line, what=what, severity="error")

    def _read_sample(self, name: str, line: int) -> LogSample:
        """Read a member with a sample. A large one is read in pieces."""
        member = self.reader.members[name]
        # A length of 0 would mean that there is no record to show, even for an empty member.
        length = max(member.compress_size, 1)
        sample = LogSample(
            {},
            event_data=EventData(),
            file=str(self.path),
            line=line,
            offset=member.header_offset,
            length=length,
        )
        if member.file_size <= MAX_WHOLE_BYTES:
            return fill_sample_from_text(sample, self.reader.read_member(name, MAX_WHOLE_BYTES))
        return fill_sample_from_stream(sample, JsonStream(self.reader.open_member(name)))

    def read_scores(self) -> Iterator[dict[str, Any]]:
        """Yield the scores of each sample, from the summaries if they have all samples."""
        summaries = list(self._read_summaries())
        if len(summaries) >= len(self.sample_names):
            yield from map(get_scores, summaries)
            return
        for name in self.sample_names:
            try:
                stream = JsonStream(self.reader.open_member(name))
                scores = _read_scores_from_stream(stream, self.path)
            except ArchiveBudgetError:
                return  # `read_samples` reports it
            except (ArchiveError, JsonStreamError):
                continue
            yield scores

    def _read_summaries(self) -> Iterator[dict[str, Any]]:
        """Yield the summaries of the samples.

        A log whose run is active or has crashed has them in its journal. A file of the journal that
        cannot be read is left out. One that is too large ends the reading.
        """
        members = self.reader.members
        names = [SUMMARIES]
        if SUMMARIES not in members:
            names = [name for name in members if name.startswith(JOURNAL_SUMMARIES)]
        for name in names:
            if members[name].file_size > MAX_HEADER_BYTES:
                # Without this file, the summaries lack samples and are not used, so the other files
                # need not be read.
                return
            try:
                text = self.reader.read_member(name, MAX_HEADER_BYTES)
                summaries = _parse_summaries(text, self.path)
            except ArchiveBudgetError:
                return  # No other member can be read either.
            except (ArchiveError, JsonStreamError):
                continue
            yield from list_objects(summaries)


def _parse_summaries(text: bytes, path: Path) -> Any:
    """Parse a list of summaries. Raises JsonStreamError.

    The summaries of thousands of samples are a large text, of which `parse_json` cuts the strings.
    This takes ten times as long and changes no score.
    """
    if count_values(text) <= MAX_VALUES and not has_long_integer(text):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(text)
    return parse_json(text, path, [])


def _report_misplaced_samples(path: Path, member_names: Sequence[str]) -> Iterator[ImportIssue]:
    """Yield an error if members look like samples, but are not where Inspect reads samples."""
    misplaced = [name for name in member_names if _is_misplaced_sample(name)]
    if not misplaced:
        return
    members = format_count(
        len(misplaced), "member looks like a sample but is", "members look like samples but are"
    )
    what = (
        f"{members} not in the folder {SAMPLE_FOLDER}, from which Inspect reads samples:"
        f" {list_names(misplaced)}. They were not imported"
    )
    yield ImportIssue(str(path), None, what=what, severity="error")


def _is_misplaced_sample(name: str) -> bool:
    """Whether a member has the name of a sample, apart from letter case, separators or folder."""
    if is_sample_file(name):
        return False
    normalized = name.replace("\\", "/").lower()
    is_in_sample_folder = f"/{SAMPLE_FOLDER}" in f"/{normalized}"
    return normalized.endswith(".json") and (
        is_in_sample_folder or _MISPLACED_NAME.search(normalized) is not None
    )


def get_scores(sample: dict[str, Any]) -> dict[str, Any]:
    return as_object(sample.get("scores"))


def _read_scores_from_stream(stream: JsonStream, path: Path) -> dict[str, Any]:
    """Read the field `scores` of a sample, and skip all others."""
    scores: dict[str, Any] = {}
    for key in stream.iterate_keys():
        if key != "scores":
            stream.skip_value()
            continue
        text = stream.read_value(MAX_FIELD_BYTES) or b"null"
        with contextlib.suppress(JsonStreamError):  # only these scores are damaged
            scores = as_object(parse_json(text, path, []))
    return scores


def is_sample_file(name: str) -> bool:
    """Return whether a member of an archive, or a file of an unpacked log, is a sample."""
    return name.startswith(SAMPLE_FOLDER) and name.endswith(".json")


def sort_sample_files(names: Sequence[str], header: dict[str, Any]) -> list[str]:
    """Return the names `samples/ID_epoch_N.json` in the order of the dataset and of epochs.

    The ids of the items come from the content of the samples. Names that do not match the dataset
    keep their order, after all others.
    """
    return sorted(names, key=_make_sample_rank(header))


def _make_sample_rank(header: dict[str, Any]) -> Callable[[str], tuple[int, int]]:
    """Return a function that sorts the names of sample files into the order of the dataset.

    The function returns the position of the sample in the dataset, and its epoch. Unknown samples
    come last.
    """
    eval_fields = as_object(header.get("eval"))
    dataset = as_object(eval_fields.get("dataset"))
    sample_ids = as_list(dataset.get("sample_ids"))
    positions: dict[str, int] = {}
    for sample_id in sample_ids:
        positions.setdefault(str(sample_id), len(positions))

    def rank(name: str) -> tuple[int, int]:
        match = _SAMPLE_NAME.fullmatch(name)
        if match is None or match["id"] not in positions:
            return len(positions), 0
        return positions[match["id"]], int(match["epoch"])

    return rank


def _open_unpacked_log(folder: Path) -> InspectLog:
    """Open a log that is a folder with the members of an archive.

    Its header is missing if the run did not finish; then the record of its start has most of the
    same content. Samples are read only when they are needed.
    """
    has_header = (folder / HEADER).is_file()
    header_path = folder / (HEADER if has_header else START)
    header = _parse_object(read_file(header_path, MAX_HEADER_BYTES), header_path, [])
    paths = {path.relative_to(folder).as_posix(): path for path in list_unpacked_samples(folder)}
    return InspectLog(
        folder,
        header=header,
        has_header=has_header,
        read_samples=partial(_read_unpacked_samples, paths, header),
        n_samples=len(paths),
        read_scores=partial(_read_unpacked_scores, paths.values()),
    )


def _read_unpacked_samples(
    paths: Mapping[str, Path], header: dict[str, Any]
) -> Iterator[LogSample | ImportIssue]:
    """Yield the samples of an unpacked log. A sample that cannot be read becomes an issue.

    `paths`: name of a sample in an archive -> its file.
    """
    for name in sort_sample_files(list(paths), header):
        path = paths[name]
        try:
            sample = _read_unpacked_sample(path)
        except (OSError, JsonStreamError) as error:
            what = f"the sample was skipped: {error}"
            yield ImportIssue(str(path), None, what=what, severity="error")
            continue
        yield sample


def _read_unpacked_scores(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield the scores of each sample of an unpacked log, but none for unreadable files."""
    for path in paths:
        try:
            with open_file(path) as file:
                scores = _read_scores_from_stream(_make_json_stream(file), path)
        except (OSError, JsonStreamError):
            continue
        yield scores


def _read_unpacked_sample(path: Path) -> LogSample:
    """Read the file of a sample of an unpacked log. A large one is read in pieces."""
    with open_file(path) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        sample = LogSample(
            {}, event_data=EventData(), file=str(path), line=1, offset=0, length=size
        )
        if size <= MAX_WHOLE_BYTES:
            return fill_sample_from_text(sample, file.read(MAX_WHOLE_BYTES))
        return fill_sample_from_stream(sample, _make_json_stream(file))


@dataclass(frozen=True, slots=True)
class _JsonSamplePlace:
    """Place of a sample in a `.json` log."""

    name: str
    """Name that the sample would have in an archive, such as `samples/a_epoch_1.json`."""
    line: int
    offset: int


def _open_json_log(file: BinaryIO, path: Path) -> InspectLog:
    """Open a log that is one JSON file.

    Samples are read only when they are needed, in the order of the dataset. If the file has them in
    this order, it is read from start to end; otherwise, the place of each sample is used.
    """
    header, places = _read_json_header(file, path)
    rank = _make_sample_rank(header)
    ordered = sorted(places, key=lambda place: rank(place.name))
    if ordered == places:
        read_samples = partial(_read_samples_from_start, file, path)
    else:
        read_samples = partial(_read_samples_at_places, file, path, ordered)
    return InspectLog(
        path,
        header=header,
        has_header=True,
        read_samples=read_samples,
        n_samples=len(places),
        read_scores=partial(_iterate_json_scores, file, path),
    )


def _read_samples_from_start(file: BinaryIO, path: Path) -> Iterator[LogSample | ImportIssue]:
    """Yield the samples of a JSON log in the order of the file, and issues."""
    file.seek(0)
    stream = _make_json_stream(file)
    try:
        for key in stream.iterate_keys():
            if key != "samples" or stream.peek_after_space() != b"[":
                stream.skip_value()
                continue
            for _ in stream.iterate_elements():
                place = _JsonSamplePlace("", line=stream.line, offset=stream.position)
                yield from _read_json_sample(file, path, stream, place)
    except JsonStreamError as error:
        what = f"the rest of the log cannot be read: {error}"
        yield ImportIssue(str(path), stream.line, what=what, severity="error")


def _read_samples_at_places(
    file: BinaryIO, path: Path, places: Sequence[_JsonSamplePlace]
) -> Iterator[LogSample | ImportIssue]:
    """Yield the samples of a JSON log in the order of `places`, and issues."""
    for place in places:
        file.seek(place.offset)
        stream = _make_json_stream(file, may_have_bom=False)
        yield from _read_json_sample(file, path, stream, place)


def _iterate_json_scores(file: BinaryIO, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the scores of each sample in a JSON log, without reading other parts of the log. A
    damaged log ends the iteration.
    """
    file.seek(0)
    stream = _make_json_stream(file)
    with contextlib.suppress(JsonStreamError):
        for key in stream.iterate_keys():
            if key != "samples" or stream.peek_after_space() != b"[":
                stream.skip_value()
                continue
            for _ in stream.iterate_elements():
                if stream.peek_after_space() == b"{":
                    yield _read_scores_from_stream(stream, path)
                else:
                    stream.skip_value()


def _read_json_header(file: BinaryIO, path: Path) -> tuple[dict[str, Any], list[_JsonSamplePlace]]:
    """Read a JSON log without its samples.

    Returns the other fields of the log, and the place of each sample in the file. If the file is
    cut off, no places are returned, so that the samples are read in the order of the file.
    """
    header: dict[str, Any] = {}
    places: list[_JsonSamplePlace] = []
    cut_off_reason = ""
    try:
        _read_fields_and_places(_make_json_stream(file), path, header, places)
    except JsonStreamError as error:
        cut_off_reason = str(error)

    if not isinstance(header.get("eval"), dict):
        raise UnreadableLog(cut_off_reason or "the log has no object `eval`")
    if cut_off_reason:
        return header, []
    return header, places


def _read_fields_and_places(
    stream: JsonStream, path: Path, header: dict[str, Any], places: list[_JsonSamplePlace]
) -> None:
    """Add the fields of a log to `header`, and the places of its samples to `places`.

    If the file is cut off, what was read until then stays, and JsonStreamError is raised.
    """
    for key in stream.iterate_keys():
        if key == "samples" and stream.peek_after_space() == b"[":
            places += _read_sample_places(stream)
            continue
        text = stream.read_value(MAX_HEADER_BYTES)
        # A field that is too large has no text.
        if text is not None:
            header[key] = parse_json(text, path, [])


def _read_sample_places(stream: JsonStream) -> list[_JsonSamplePlace]:
    """Read the list of samples at the position of a stream, and return where each of them is."""
    places = []
    for _ in stream.iterate_elements():
        is_object = stream.peek_after_space() == b"{"
        line = stream.line
        offset = stream.position
        if is_object:
            name = _read_sample_name(stream)
        else:
            name = ""
            stream.skip_value()
        places.append(_JsonSamplePlace(name, line=line, offset=offset))
    return places


def _read_sample_name(stream: JsonStream) -> str:
    """Return the name that a sample would have as a member of an archive, and skip the sample.

    The name consists of the id and the epoch (the number of the repeat), which are normally the
    first fields of the sample.
    """
    fields: dict[str, Any] = {}
    for key in stream.iterate_keys():
        if key not in ("id", "epoch"):
            stream.skip_value()
            continue
        text = stream.read_value(MAX_ID_BYTES)
        if text is None:
            fields[key] = None  # The value is too large.
        else:
            with contextlib.suppress(ValueError, RecursionError):
                fields[key] = json.loads(text)
        if "id" in fields and "epoch" in fields:
            stream.skip_rest_of_container()
            break
    return f"{SAMPLE_FOLDER}{fields.get('id')}_epoch_{fields.get('epoch', 1)}.json"


def _read_json_sample(
    file: BinaryIO, path: Path, stream: JsonStream, place: _JsonSamplePlace
) -> Iterator[LogSample | ImportIssue]:
    """Read the sample at the position of a stream. A sample that cannot be read becomes an issue.

    Args:
        file: The file of the log.
        path: Its path, for issues.
        stream: The stream, which stands before the sample. It begins there or at the start of the
            file.
        place: The place of the sample in the file.
    """
    start = stream.position
    text = stream.read_value(MAX_WHOLE_BYTES)
    length = stream.position - start
    sample = LogSample(
        {},
        event_data=EventData(),
        file=str(path),
        line=place.line,
        offset=place.offset,
        length=length,
    )
    try:
        filled = _fill_json_sample(sample, text, file)
    except JsonStreamError as error:
        what = f"a sample was skipped: {error}"
        yield ImportIssue(str(path), place.line, what=what, severity="error")
        return
    yield filled


def _fill_json_sample(sample: LogSample, text: bytes | None, file: BinaryIO) -> LogSample:
    """Fill a sample from its text and return it. Raises JsonStreamError if that is not possible.

    `text` is None if the sample is too large to be read as a whole. Then its fields are read one by
    one from the file, whose position stays the same.
    """
    if text is not None:
        return fill_sample_from_text(sample, text)
    position = file.tell()
    file.seek(sample.offset)
    try:
        return fill_sample_from_stream(sample, _make_json_stream(file, may_have_bom=False))
    finally:
        file.seek(position)


def _make_json_stream(file: BinaryIO, *, may_have_bom: bool = True) -> JsonStream:
    stream = JsonStream(file.read)
    if may_have_bom and isinstance(file, BufferedReader) and file.peek(3)[:3] == b"\xef\xbb\xbf":
        stream.skip_bytes(3)
    return stream


def _parse_object(text: bytes, path: Path, issues: list[ImportIssue]) -> dict[str, Any]:
    value = parse_json(text, path, issues)
    if not isinstance(value, dict):
        raise UnreadableLog(
            f"the log contains this text instead of a JSON object: {make_excerpt(text, 80)}"
        )
    return value
