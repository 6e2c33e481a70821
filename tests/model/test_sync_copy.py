"""Copies of files that two machines changed are recognised by the names that sync programs give."""

from __future__ import annotations

import pytest

from fcreview.model.sync_copy import find_original_name


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("errata.sync-conflict-20261128-101010-ABCDEF7.jsonl", "errata.jsonl"),
        ("errata (conflicted copy).jsonl", "errata.jsonl"),
        ("errata (conflicted copy 2026-11-28).jsonl", "errata.jsonl"),
        ("errata (Ann's conflicted copy 2026-11-28).jsonl", "errata.jsonl"),
        ("errata (conflicted copy 2026-11-28 101010).tar.gz", "errata.tar.gz"),
        ("errata_conflict-20261128-101010.jsonl", "errata.jsonl"),
        ("notes (Conflicted Copy)", "notes"),
        ("errata.jsonl", None),
        ("errata (1).jsonl", None),
        ("conflicted copy.jsonl", None),
        ("(conflicted copy)", None),
    ],
)
def test_original_name_of_a_copy_is_found(name: str, original: str | None) -> None:
    assert find_original_name(name) == original


def test_long_names_take_little_time() -> None:
    assert find_original_name("x (conflicted copy " * 20_000) is None
