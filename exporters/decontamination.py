"""Find rows whose question is in a given benchmark, so that they are not trained on.

The benchmark is given as files of JSON or JSON Lines of any form. A record is a line, or an element
of a list. Its question is the text of the user's messages or, without messages, of a field such as
`question`. A row matches a record if both questions have the same letters and digits (exact), or if
the shorter of two longer texts shares most of its word triples with the other one (near), by the
limits that `fcreview.golden_audit.siblings` measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from fcreview.errors import UsageError
from fcreview.golden_audit.question import normalize_text
from fcreview.golden_audit.siblings import MIN_SHARED_PART, MIN_WORD_TRIPLES

QUESTION_FIELDS = ("question", "prompt", "instruction", "query", "problem", "input", "task")
"""Fields of records whose text is the question, in the order in which they are tried."""
SUFFIXES = (".json", ".jsonl", ".ndjson")
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_DEPTH = 20
"""Depth of objects and lists down to which messages are searched."""
MAX_TEXT_LENGTH = 200_000
"""Number of characters of a question that are compared."""
MAX_RECORDS_OF_TRIPLE = 200
"""A word triple that more records contain is a stock phrase and leads to no candidates."""
_WORD = re.compile(r"\w+")
_Triple = tuple[str, str, str]
MatchKind = Literal["exact", "near"]


@dataclass(frozen=True, slots=True)
class BenchmarkMatch:
    """A record of a given benchmark that has the question of a row."""

    kind: MatchKind
    path: str
    record: int
    """Number of the record in its file, from 1."""


@dataclass(frozen=True, slots=True)
class _Record:
    path: str
    number: int
    n_triples: int


class BenchmarkQuestions:
    """The questions of the given benchmarks, indexed by text and by word triples."""

    def __init__(self) -> None:
        self._by_text: dict[str, _Record] = {}
        self._by_triple: dict[_Triple, list[_Record]] = {}
        self.n_questions = 0

    def add(self, question: str, path: str, number: int) -> None:
        """Index the question of the record with this number in a file. An empty question is
        ignored, and a very short one is found only by its whole text.
        """
        normalized = normalize_text(question[:MAX_TEXT_LENGTH])
        if not normalized:
            return
        self.n_questions += 1

        triples = _list_word_triples(question)
        record = _Record(path, number, len(triples))
        self._by_text.setdefault(normalized, record)
        if len(triples) >= MIN_WORD_TRIPLES:
            for triple in triples:
                self._by_triple.setdefault(triple, []).append(record)

    def find_match(self, question: str) -> BenchmarkMatch | None:
        """Return the record with the same question, or else the first one with nearly the same."""
        record = self._by_text.get(normalize_text(question[:MAX_TEXT_LENGTH]))
        if record is not None:
            return BenchmarkMatch("exact", record.path, record.number)
        record = self._find_near_record(_list_word_triples(question))
        if record is not None:
            return BenchmarkMatch("near", record.path, record.number)
        return None

    def _find_near_record(self, triples: frozenset[_Triple]) -> _Record | None:
        """Return the record that shares the most word triples with a question, if it shares enough
        of them, measured by the shorter of the two questions.
        """
        if len(triples) < MIN_WORD_TRIPLES:
            return None
        n_shared: Counter[_Record] = Counter()
        for triple in triples:
            records = self._by_triple.get(triple, [])
            # More records share only stock phrases.
            if len(records) <= MAX_RECORDS_OF_TRIPLE:
                n_shared.update(records)

        for record, count in n_shared.most_common():
            n_triples_of_shorter = min(len(triples), record.n_triples)
            if count >= MIN_SHARED_PART * n_triples_of_shorter:
                return record
        return None


def _list_word_triples(text: str) -> frozenset[_Triple]:
    words = _WORD.findall(text[:MAX_TEXT_LENGTH].lower())
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def read_benchmark_questions(paths: Sequence[Path]) -> BenchmarkQuestions:
    """Read the questions of files, and of all JSON files in folders.

    Raises UsageError for a file that is missing, too large or no JSON, and for a path without any
    question, because rows would be compared with nothing.
    """
    questions = BenchmarkQuestions()
    for path in paths:
        n_before = questions.n_questions
        for file in _list_files(path):
            for number, record in enumerate(_iter_records(file), 1):
                question = extract_question(record)
                if question:
                    questions.add(question, str(file), number)
        if questions.n_questions == n_before:
            fields = ", ".join(QUESTION_FIELDS)
            raise UsageError(
                f"--decontaminate {path}: no question found. Records need user messages or one of"
                f" the fields {fields}"
            )
    return questions


def _list_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"--decontaminate {path}: no such file or folder")
    files = [file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file()]
    return sorted(files)


def _iter_records(path: Path) -> Iterator[Any]:
    """Yield the records of a file: the elements of a JSON list, the value of a JSON file, or the
    lines.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        limit = MAX_FILE_BYTES // 1024 // 1024
        raise UsageError(f"--decontaminate {path}: the file has more than {limit} MB")
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        yield from _iter_lines(path, content)
        return
    if isinstance(value, list):
        yield from value
    else:
        yield value


def _iter_lines(path: Path, content: bytes) -> Iterator[Any]:
    """Yield the values of a JSON Lines file. Raises UsageError for a line that is not JSON."""
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"--decontaminate {path}:{number}: {error}") from error


def extract_question(record: Any) -> str:
    """Return the question of a record: all messages of the user, or else the text of a field. An
    empty text if there is none.
    """
    if isinstance(record, str):
        return record
    messages = list(_iter_user_texts(record, depth=0))
    if messages:
        return "\n".join(messages)
    if isinstance(record, dict):
        for name in QUESTION_FIELDS:
            if isinstance(record.get(name), str):
                return str(record[name])
    return ""


def _iter_user_texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of the user's messages at any place of a record."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for element in value:
            yield from _iter_user_texts(element, depth + 1)
    elif isinstance(value, dict):
        if value.get("role") == "user":
            yield from _iter_content_texts(value.get("content"))
            return
        for element in value.values():
            yield from _iter_user_texts(element, depth + 1)


def _iter_content_texts(content: Any) -> Iterable[str]:
    """Yield the texts of a message: its content, or the text parts of its content."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]
