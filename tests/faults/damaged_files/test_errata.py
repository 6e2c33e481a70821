"""Errata from others, by `--errata` and `merge`: sealed, and any value of any kind in any field. Taken with what they
say or refused in a line; never waited for, never obeyed, and no review is lost of them."""

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
from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.workspace import find_workspace
from tests.commands import Done, environment, run_in_this_process
from tests.examples import LONG
from tests.faults.damaged_files.damage import MORE
from tests.faults.hostile.data import RAW, SUFFIX, Raw, as_json
from tests.faults.hostile.exercise import check, check_markdown
from tests.faults.hostile.limits import within
from tests.faults.hostile.test_run_folders import KINDS
from tests.faults.processes import times

ROOT = Path(__file__).resolve().parents[3]
DEEP = [f"{'[' * levels}{']' * levels}" for levels in (99, 101, 255, 900, 100_000)]
VALUES = [*(raw for raw in RAW if len(raw) < 30_000), *MORE, *DEEP]
FIXES = {
    "simple_python_1": [{"loan.monthly_payment": {"principal": [240000], "annual_rate": [3.5], "years": [30]}}],
    "live_simple_3-3-0": [{"timer.start": {"minutes": [30], "name": ["bread", ""]}}],
}
RULES = ["accept 1 for 2 in base", "ignore-case of timer.start on bfcl"]
PACKED = 3
"""Rules of one file: of most values none can be made."""
Record = dict[str, Any]


def sealed(head: Record, records: list[Record]) -> bytes:
    """A file of errata of which the digest fits, where there can be one."""
    body = b"".join(as_json(each).encode("utf-8", "surrogatepass") + b"\n" for each in records)
    raw = as_json(head).encode("utf-8", "surrogatepass")
    try:
        text = orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError):
        return raw + b"\n" + body
    digest = blake2b(text + b"\n" + body, digest_size=32).hexdigest()
    return as_json({**head, "digest": digest}).encode("utf-8", "surrogatepass") + b"\n" + body


class File:
    """A file of errata, and what commands make of it that need nothing else."""

    def __init__(self, cwd: Path, environ: dict[str, str]) -> None:
        self.cwd, self.environ, self.file = cwd, environ, cwd / "errata.jsonl"

    def done(self, *words: str | Path) -> Done:
        with within(60):
            done = run_in_this_process(words, self.cwd, self.environ)
        check([str(each) for each in words], done)
        return done

    def parts(self) -> tuple[Record, list[Record]]:
        head, *records = [json.loads(line) for line in self.file.read_text().splitlines()]
        return {name: value for name, value in head.items() if name != "digest"}, records

    def checked(self) -> bool:
        """Whether it is taken for one of errata."""
        found = {self.done("errata", "check", self.file, *more).code for more in ([], ["--json"])}
        assert len(found) == 1
        check_markdown(self.done("errata", "issue", self.file).out)
        return found == {0}


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace in `runs` and errata of it."""
    place = tmp_path_factory.mktemp("corrected")
    runs = shutil.copytree(ROOT / "sample_runs" / "bfcl", place / "runs")
    file = File(place, environment(place))
    for item, fix in FIXES.items():
        file.done("label", runs, item, "--run", "1", "--golden-fix", json.dumps({"ground_truth": fix}))
    for rule in RULES:
        file.done("rules", "add", runs, rule)
    assert file.done("errata", "create", runs, "-o", file.file).code == 0
    return place


class Place(File):
    """A workspace besides, whose golden answers some of them correct."""

    def __init__(self, cwd: Path, environ: dict[str, str]) -> None:
        super().__init__(cwd, environ)
        self.runs = cwd / "runs"
        self.head, self.records = self.parts()
        assert len(self.records) == len(FIXES) + len(RULES)
        self.known = len(read_journals(find_workspace(self.runs, create=False))[0])

    def fresh(self) -> None:
        """As it was before anything was taken in."""
        for name in ("errata.jsonl", "other"):
            path = self.runs / ".fcreview" / name
            path.unlink(missing_ok=True)

    def taken(self) -> None:
        """By `--errata`, and from there by `merge` into another workspace: all that shows them."""
        other = self.cwd / "other"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(self.runs, other)
        done = self.done("import", self.runs, "--errata", self.file)
        if "cannot be applied" in done.err:  # of a benchmark whose golden answers are not exchanged
            assert done.code == 1
            return
        assert done.code == 0, done.err
        shutil.copy(self.file, other / ".fcreview" / "errata.jsonl")
        merged = self.done("merge", self.runs, other)
        assert "not merged" not in merged.err, merged.err
        for item in FIXES:
            for more in ([], ["--json"]):
                assert self.done("show", self.runs, item, "--run", "1", "--full", *more).code == 0
        for words in (["report"], ["rules", "list"], ["items"], ["triage"], ["doctor"]):
            assert self.done(*words, self.runs).code == 0
        again = self.cwd / "again.jsonl"
        assert self.done("errata", "create", self.runs, "-o", again, "--force").code == 0
        assert self.done("errata", "check", again).code == 0
        assert self.done("merge", other, self.runs).code == 0


@pytest.fixture
def place(corrected: Path, tmp_path: Path, environ: dict[str, str]) -> Place:
    shutil.copytree(corrected, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path, environ)


def spoilt(record: Record) -> Iterator[Record]:
    """With each value in each field, and in each of those inside them."""
    for name, value in record.items():
        for raw in VALUES:
            yield {**record, name: Raw(raw)}
        if isinstance(value, dict):
            yield from ({**record, name: each} for each in spoilt(value))


def test_errata_of_others_may_say_anything(tmp_path: Path, environ: dict[str, str]) -> None:
    """Any value in any field: they are told, or told to be none."""
    file = File(tmp_path, environ)
    entry = ErrataEntry("bfcl", "V4", "en", "simple_python", "simple_python_1", "0" * 16, [{"f": {}}], [{"g": {}}])
    file.file.write_bytes(serialize_errata([entry], [*map(parse_rule, RULES)], "2026-01-01", "bob"))
    head, records = file.parts()
    file.file.write_bytes(sealed(head, records))
    assert file.checked(), "what is sealed here fits"
    cases = [(each, records) for each in spoilt(head)]
    cases += [(head, [each]) for record in records for each in spoilt(record)]
    usable = 0
    for case in random.sample(cases, times(6, len(cases))):
        file.file.write_bytes(sealed(*case))
        usable += file.checked()
    print(f"{len(cases)} cases, {usable} of those tried are errata", flush=True)


@pytest.mark.sweep
def test_what_errata_of_others_say_is_shown_harmlessly(place: Place) -> None:
    goldens, rules = place.records[: len(FIXES)], place.records[len(FIXES) :]
    entries = list(spoilt(goldens[0]))
    also = [each for record in rules for each in spoilt(record)]
    taken = 0
    for entry in random.sample(entries, times(1, 50)):
        for records in ([entry], [entry, goldens[1], *random.sample(also, PACKED)], random.sample(also, PACKED // 2)):
            place.file.write_bytes(sealed(place.head, records))
            if place.checked():
                place.taken()
                place.fresh()
                taken += 1
    print(f"of {len(entries)} entries and {len(also)} rules {taken} files were taken", flush=True)


def new_answers(old: Any) -> Iterator[Raw | Any]:
    """Any value in the place of the golden answer, and in each place of it."""
    yield from map(Raw, VALUES)
    parts = old.items() if isinstance(old, dict) else enumerate(old) if isinstance(old, list) else ()
    for key, part in parts:
        for inner in new_answers(part):
            copy = dict(old) if isinstance(old, dict) else list(old)
            copy[key] = inner
            yield copy
    if isinstance(old, dict):
        yield {SUFFIX: next(iter(old.values()))}


@pytest.mark.sweep
def test_a_corrected_answer_may_be_anything(place: Place) -> None:
    first, second = place.records[: len(FIXES)]
    answers = [*new_answers(first["new"])]
    for answer in random.sample(answers, times(1, 80)):
        place.file.write_bytes(sealed(place.head, [{**first, "new": answer}, second]))
        if place.checked():
            place.taken()
            place.fresh()
    print(f"of {len(answers)} answers")


def written(content: bytes, file: Path) -> None:
    file.write_bytes(content)


def huge(file: Path) -> None:
    """With a hole in it."""
    file.write_bytes(b"{")
    os.truncate(file, 1 << 40)


NO_ERRATA = {
    **{kind.__name__: kind for kind in KINDS},
    "huge": huge,
    "noise": partial(written, bytes(range(256)) * 20),
    "empty": partial(written, b""),
    "zeros": partial(written, b"\0" * 1000),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NO_ERRATA if LONG else list(NO_ERRATA)[::3])
def test_what_is_no_file_of_errata_is_told(place: Place, kind: str) -> None:
    """Reviews of the other workspace are taken all the same."""
    place.file.unlink()
    NO_ERRATA[kind](place.file)
    for words in (["errata", "check"], ["errata", "issue"]):
        assert place.done(*words, place.file).code == 1
    assert place.done("report", place.runs, "--errata", place.file).code == 1
    other = shutil.copytree(place.runs, place.cwd / "other")
    place.done("label", other, "simple_python_0", "--run", "1", "--verdict", "pass")
    for name in ("errata.jsonl", "rules.jsonl"):
        (other / ".fcreview" / name).unlink(missing_ok=True)
        NO_ERRATA[kind](other / ".fcreview" / name)
    assert place.done("merge", place.runs, other, "--mine").code == 0
    assert len(read_journals(find_workspace(place.runs, create=False))[0]) == place.known + 1
    assert not (place.runs / ".fcreview" / "errata.jsonl").exists()
