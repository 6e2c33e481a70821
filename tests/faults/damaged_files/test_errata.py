"""Hostile errata files with a valid digest and any value in any field, through `--errata` and
`merge`: applied or refused with a message, no control characters on the screen, and no review is
lost.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.equivalence import parse_rule
from fcreview.errata import ErrataEntry, serialize_errata
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import Done, environment, run_in_this_process
from tests.examples import LONG
from tests.faults.damaged_files.damage import MORE
from tests.faults.hostile.data import RAW, SUFFIX, Raw, as_json
from tests.faults.hostile.exercise import check, check_markdown
from tests.faults.hostile.limits import time_limit
from tests.faults.hostile.test_run_folders import KINDS
from tests.faults.processes import times

ROOT = Path(__file__).resolve().parents[3]
DEEP = [f"{'[' * levels}{']' * levels}" for levels in (99, 101, 255, 900, 100_000)]
VALUES = [*(raw for raw in RAW if len(raw) < 30_000), *MORE, *DEEP]
FIXES = {
    "simple_python_1": [
        {"loan.monthly_payment": {"principal": [240000], "annual_rate": [3.5], "years": [30]}}
    ],
    "live_simple_3-3-0": [{"timer.start": {"minutes": [30], "name": ["bread", ""]}}],
}
RULES = ["accept 1 for 2 in base", "ignore-case of timer.start on bfcl"]
PACKED = 3
"""Number of rules in one file."""
Record = dict[str, Any]


def with_digest(head: Record, records: list[Record]) -> bytes:
    """Return an errata file with the right digest, or without one if the header is not JSON."""
    body = b"".join(as_json(each).encode("utf-8", "surrogatepass") + b"\n" for each in records)
    raw = as_json(head).encode("utf-8", "surrogatepass")
    try:
        text = orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError):
        return raw + b"\n" + body
    digest = blake2b(text + b"\n" + body, digest_size=32).hexdigest()
    return as_json({**head, "digest": digest}).encode("utf-8", "surrogatepass") + b"\n" + body


class ErrataFile:
    """An errata file, and commands that need only this file."""

    def __init__(self, cwd: Path, environ: dict[str, str]) -> None:
        self.cwd, self.environ, self.file = cwd, environ, cwd / "errata.jsonl"

    def run(self, *words: str | Path) -> Done:
        with time_limit(60):
            done = run_in_this_process(words, self.cwd, self.environ)
        check([str(each) for each in words], done)
        return done

    def parts(self) -> tuple[Record, list[Record]]:
        head, *records = [json.loads(line) for line in self.file.read_text().splitlines()]
        return {name: value for name, value in head.items() if name != "digest"}, records

    def is_valid(self) -> bool:
        """Return whether the file is a valid errata file."""
        found = {self.run("errata", "check", self.file, *more).code for more in ([], ["--json"])}
        assert len(found) == 1
        check_markdown(self.run("errata", "issue", self.file).out)
        return found == {0}


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace in `runs` and its errata file."""
    place = tmp_path_factory.mktemp("corrected")
    runs = shutil.copytree(ROOT / "sample_runs" / "bfcl", place / "runs")
    file = ErrataFile(place, environment(place))
    for item, fix in FIXES.items():
        file.run(
            "label", runs, item, "--run", "1", "--golden-fix", json.dumps({"ground_truth": fix})
        )
    for rule in RULES:
        file.run("rules", "add", runs, rule)
    assert file.run("errata", "create", runs, "-o", file.file).code == 0
    return place


class ErrataWorkspace(ErrataFile):
    """An errata file, and a workspace with the golden answers that it corrects."""

    def __init__(self, cwd: Path, environ: dict[str, str]) -> None:
        super().__init__(cwd, environ)
        self.runs = cwd / "runs"
        self.head, self.records = self.parts()
        assert len(self.records) == len(FIXES) + len(RULES)
        self.known = len(read_events_and_warnings(find_workspace(self.runs, create=False))[0])

    def reset(self) -> None:
        """Remove the applied errata."""
        for name in ("errata.jsonl", "other"):
            path = self.runs / ".fcreview" / name
            path.unlink(missing_ok=True)

    def apply(self) -> None:
        """Apply the file with `--errata`, merge it into another workspace, and run all commands
        that show errata.
        """
        other = self.cwd / "other"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(self.runs, other)
        done = self.run("import", self.runs, "--errata", self.file)
        if "cannot be applied" in done.err:  # a benchmark without corrected golden answers
            assert done.code == 1
            return
        assert done.code == 0, done.err
        shutil.copy(self.file, other / ".fcreview" / "errata.jsonl")
        merged = self.run("merge", self.runs, other)
        assert "not merged" not in merged.err, merged.err
        for item in FIXES:
            for more in ([], ["--json"]):
                assert self.run("show", self.runs, item, "--run", "1", "--full", *more).code == 0
        for words in (["report"], ["rules", "list"], ["items"], ["triage"], ["doctor"]):
            assert self.run(*words, self.runs).code == 0
        again = self.cwd / "again.jsonl"
        assert self.run("errata", "create", self.runs, "-o", again, "--force").code == 0
        assert self.run("errata", "check", again).code == 0
        assert self.run("merge", other, self.runs).code == 0


@pytest.fixture
def place(corrected: Path, tmp_path: Path, environ: dict[str, str]) -> ErrataWorkspace:
    shutil.copytree(corrected, tmp_path, dirs_exist_ok=True)
    return ErrataWorkspace(tmp_path, environ)


def variants(record: Record) -> Iterator[Record]:
    """Yield the record with each value in each field, also in nested fields."""
    for name, value in record.items():
        for raw in VALUES:
            yield {**record, name: Raw(raw)}
        if isinstance(value, dict):
            yield from ({**record, name: each} for each in variants(value))


def test_hostile_errata_are_accepted_or_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    """Any value in any field: `errata check` accepts or refuses the file."""
    file = ErrataFile(tmp_path, environ)
    entry = ErrataEntry(
        "bfcl", "V4", "en", "simple_python", "simple_python_1", "0" * 16, [{"f": {}}], [{"g": {}}]
    )
    file.file.write_bytes(serialize_errata([entry], [*map(parse_rule, RULES)], "2026-01-01", "bob"))
    head, records = file.parts()
    file.file.write_bytes(with_digest(head, records))
    assert file.is_valid(), "the file is valid"
    cases = [(each, records) for each in variants(head)]
    cases += [(head, [each]) for record in records for each in variants(record)]
    usable = 0
    for case in random.sample(cases, times(6, len(cases))):
        file.file.write_bytes(with_digest(*case))
        usable += file.is_valid()
    print(f"{len(cases)} cases, {usable} of those tried are errata", flush=True)


@pytest.mark.sweep
def test_hostile_errata_are_shown_harmlessly(place: ErrataWorkspace) -> None:
    goldens, rules = place.records[: len(FIXES)], place.records[len(FIXES) :]
    entries = list(variants(goldens[0]))
    also = [each for record in rules for each in variants(record)]
    taken = 0
    for entry in random.sample(entries, times(1, 50)):
        for records in (
            [entry],
            [entry, goldens[1], *random.sample(also, PACKED)],
            random.sample(also, PACKED // 2),
        ):
            place.file.write_bytes(with_digest(place.head, records))
            if place.is_valid():
                place.apply()
                place.reset()
                taken += 1
    print(f"of {len(entries)} entries and {len(also)} rules {taken} files were taken", flush=True)


def new_answers(old: Any) -> Iterator[Raw | Any]:
    """Yield each value in place of the golden answer and of each of its parts."""
    yield from map(Raw, VALUES)
    parts = (
        old.items() if isinstance(old, dict) else enumerate(old) if isinstance(old, list) else ()
    )
    for key, part in parts:
        for inner in new_answers(part):
            copy = dict(old) if isinstance(old, dict) else list(old)
            copy[key] = inner
            yield copy
    if isinstance(old, dict):
        yield {SUFFIX: next(iter(old.values()))}


@pytest.mark.sweep
def test_corrected_answer_may_be_anything(place: ErrataWorkspace) -> None:
    first, second = place.records[: len(FIXES)]
    answers = [*new_answers(first["new"])]
    for answer in random.sample(answers, times(1, 80)):
        place.file.write_bytes(with_digest(place.head, [{**first, "new": answer}, second]))
        if place.is_valid():
            place.apply()
            place.reset()
    print(f"of {len(answers)} answers")


def write(content: bytes, file: Path) -> None:
    file.write_bytes(content)


def sparse_file(file: Path) -> None:
    """Write a sparse file of one terabyte."""
    file.write_bytes(b"{")
    os.truncate(file, 1 << 40)


NO_ERRATA = {
    **{kind.__name__: kind for kind in KINDS},
    "sparse_file": sparse_file,
    "noise": partial(write, bytes(range(256)) * 20),
    "empty": partial(write, b""),
    "zeros": partial(write, b"\0" * 1000),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NO_ERRATA if LONG else list(NO_ERRATA)[::3])
def test_invalid_errata_file_is_reported(place: ErrataWorkspace, kind: str) -> None:
    """The reviews of the other workspace are merged all the same."""
    place.file.unlink()
    NO_ERRATA[kind](place.file)
    for words in (["errata", "check"], ["errata", "issue"]):
        assert place.run(*words, place.file).code == 1
    assert place.run("report", place.runs, "--errata", place.file).code == 1
    other = shutil.copytree(place.runs, place.cwd / "other")
    place.run("label", other, "simple_python_0", "--run", "1", "--verdict", "pass")
    for name in ("errata.jsonl", "rules.jsonl"):
        (other / ".fcreview" / name).unlink(missing_ok=True)
        NO_ERRATA[kind](other / ".fcreview" / name)
    assert place.run("merge", place.runs, other, "--mine").code == 0
    assert (
        len(read_events_and_warnings(find_workspace(place.runs, create=False))[0])
        == place.known + 1
    )
    assert not (place.runs / ".fcreview" / "errata.jsonl").exists()
