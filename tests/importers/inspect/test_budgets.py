"""Budgets of Inspect logs: archives that decompress to too much, objects with too many keys, and
many copies of a log.
"""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.common import budgets
from fcreview.importers.inspect import attempts, json_stream, writeback
from fcreview.importers.inspect.leaderboard import LogMetrics
from fcreview.importers.inspect.writeback import LogEditError, LogEditor
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.bombs.inspect_bombs import make_inspect_sample, write_eval
from tests.importers.inspect.test_attempts import write
from tests.importers.inspect.test_damage import make_log

MEGABYTE = 1 << 20
NO_METRICS = LogMetrics(primary=None, primary_key=None, is_judged=False)


def read_log(folder: Path) -> tuple[list[Item], list[ImportIssue]]:
    (plan,) = discover([folder]).plans
    records = list(read_items(plan))
    items = [record for record in records if isinstance(record, Item)]
    issues = [record for record in records if isinstance(record, ImportIssue)]
    return items, issues


def make_sample(sample_id: str, n_megabytes: int = 0) -> dict[str, Any]:
    sample = make_inspect_sample([{"role": "assistant", "content": "answer"}])
    return sample | {"id": sample_id, "timelines": "x" * (n_megabytes * MEGABYTE)}


def test_samples_after_the_budget_of_an_archive_are_skipped_with_one_issue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "MIN_ARCHIVE_BYTES", 12 * MEGABYTE)
    write_eval(tmp_path, *[make_sample(f"s{number}", n_megabytes=5) for number in range(5)])

    items, issues = read_log(tmp_path)
    assert [item.id for item in items] == ["s0", "s1"]
    reasons = [issue.what for issue in issues if issue.severity == "error"]
    assert reasons == [
        "3 samples were skipped: the archive has more than 12 MB after decompression"
    ]


def test_samples_of_any_size_spend_the_budget_of_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "MIN_ARCHIVE_BYTES", 5 * MEGABYTE)
    write_eval(tmp_path, *[make_sample(f"s{number}", n_megabytes=2) for number in range(5)])

    items, issues = read_log(tmp_path)
    assert [item.id for item in items] == ["s0", "s1"]
    assert any("3 samples were skipped" in issue.what for issue in issues)


def test_sample_that_says_that_it_is_too_large_spends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "MIN_ARCHIVE_BYTES", 12 * MEGABYTE)
    monkeypatch.setattr(budgets, "MAX_MEMBER_BYTES", 10 * MEGABYTE)
    write_eval(tmp_path, make_sample("large", n_megabytes=11), make_sample("s", n_megabytes=5))

    items, issues = read_log(tmp_path)
    assert [item.id for item in items] == ["s"]
    assert any("it has more than 10 MB after decompression" in issue.what for issue in issues)


def test_large_archive_may_expand_to_a_multiple_of_its_size() -> None:
    genuine = budgets.ArchiveBudget.for_archive(30 * MEGABYTE)
    small = budgets.ArchiveBudget.for_archive(1_000)
    huge = budgets.ArchiveBudget.for_archive(1 << 40)
    assert genuine.limit == 30 * MEGABYTE * budgets.MAX_EXPANSION
    assert small.limit == budgets.MIN_ARCHIVE_BYTES
    assert huge.limit == budgets.MAX_ARCHIVE_BYTES


def test_object_with_too_many_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_KEYS", 100)

    def read_keys(n_keys: int) -> list[str]:
        text = json.dumps({f"k{number}": number for number in range(n_keys)}).encode()
        stream = json_stream.JsonStream(io.BytesIO(text).read)
        keys = []
        for key in stream.iterate_keys():
            stream.skip_value()
            keys.append(key)
        return keys

    assert len(read_keys(100)) == 100
    with pytest.raises(json_stream.JsonStreamError, match="more than 100 keys"):
        read_keys(101)


def test_scores_of_copies_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, the time grows with the square of the number of copies."""
    n_copies = 12
    for number in range(n_copies):
        log = copy.deepcopy(make_log())
        for score in log["results"]["scores"]:
            score["params"] = {"copy": number}
        for sample in log["samples"]:
            for score in sample["scores"].values():
                score["value"] = number
        write(tmp_path / f"{number}.json", log)

    read_paths: list[Path] = []
    read_scores = attempts._read_scores

    def count_and_read(path: Path) -> Any:
        read_paths.append(path)
        return read_scores(path)

    monkeypatch.setattr(attempts, "_read_scores", count_and_read)
    assert len(discover([tmp_path]).plans) == n_copies
    assert len(read_paths) == n_copies


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("MIN_ARCHIVE_BYTES", 4 * MEGABYTE, "the archive has more than 4 MB after decompression"),
        ("MAX_MEMBER_BYTES", 2 * MEGABYTE, "it has more than 2 MB after decompression"),
    ],
)
def test_log_above_the_budget_is_not_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, reason: str
) -> None:
    monkeypatch.setattr(budgets, limit, value)
    write_eval(tmp_path, make_sample("s1", n_megabytes=3), make_sample("s2", n_megabytes=3))

    editor = LogEditor(lambda sample: (), NO_METRICS)
    with pytest.raises(LogEditError, match=reason):
        editor.make_edited_log(tmp_path / "log.eval")


def test_log_with_too_many_values_is_not_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writeback, "MAX_PARSED_VALUES", 10)
    write(tmp_path / "log.json", make_log())

    editor = LogEditor(lambda sample: (), NO_METRICS)
    with pytest.raises(LogEditError, match="more than 10 values"):
        editor.make_edited_log(tmp_path / "log.json")
