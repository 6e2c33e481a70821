"""The last review in the journal counts, even if the clock was set back or far ahead."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fcreview.store.reviews import journal
from fcreview.store.reviews.journal_reader import check_journals
from fcreview.store.workspace import find_workspace
from tests.commands import run_in_this_process

ITEM = "special_incomplete_1"


@pytest.mark.sweep
def test_reviews_count_in_journal_order(
    sample: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(year: int, *words: str) -> None:
        said = () if "--undo" in words else (ITEM, "--run", "1")

        class Clock(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
                return datetime(year, 1, 1, tzinfo=UTC)

        monkeypatch.setattr(journal, "datetime", Clock)
        done = run_in_this_process(["label", sample, *said, *words], sample, environ)
        assert done.code == 0, done.err

    def you() -> list[bool | None]:
        found = run_in_this_process(
            ["items", sample, "--where", f'id:"{ITEM}"', "--json"], sample, environ
        ).objects
        return [each["you"] for each in found if each["run"] == 1]

    at(2031, "--verdict", "pass", "--note", "first")
    at(1999, "--verdict", "fail", "--note", "second")
    assert you() == [False]
    at(2025, "--verdict", "pass", "--note", "third")
    assert you() == [True]
    at(1971, "--undo")
    assert you() == [False], "the last review is undone"
    at(9999, "--undo")
    assert you() == [True]
    assert [report.warnings for report in check_journals(find_workspace(sample, create=False))] == [
        []
    ]
