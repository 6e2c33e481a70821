"""Reviews and automatic verdicts give the same effective verdict in Python and in SQL."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import pytest

from fcreview.model.effective_verdict import (
    DISPUTED,
    RESOLUTIONS,
    SCORING_ORDER,
    DecidedBy,
    find_agreed_verdict,
    select_automatic_verdict,
    select_effective_verdict,
)
from fcreview.model.item import SourceName
from fcreview.store.review_sql import decision_origin_sql
from fcreview.store.review_sql import effective_verdict_sql as effective_verdict_sql

SOURCES: tuple[SourceName, ...] = SCORING_ORDER
DECISIONS: tuple[DecidedBy | None, ...] = (None, "disputed", *RESOLUTIONS)


@pytest.mark.parametrize(
    ("opinions", "verdict"),
    [
        ([], None),
        ([True, True], True),
        ([True, False], DISPUTED),
        ([True, "unsure", None], True),
        (["unsure"], None),
        ([1, True], DISPUTED),
        ([["a", "b"], ["b", "a"]], ["a", "b"]),
        ([["a"], ["b"]], DISPUTED),
    ],
)
def test_agreed_verdict_of_annotators(opinions: list[Any], verdict: Any) -> None:
    assert find_agreed_verdict(opinions) == verdict


def test_automatic_verdict_uses_first_source_with_a_verdict() -> None:
    assert select_automatic_verdict({"official": None, "rule": False, "judge": True}) is False
    assert select_automatic_verdict({"official": False, "rule": True, "judge": True}) is False
    assert select_automatic_verdict({"judge": True}) is True
    assert select_automatic_verdict({}) is None


def test_human_verdict_wins_unless_annotators_disagree() -> None:
    assert select_effective_verdict(True, False, "unanimous") is False
    assert select_effective_verdict(True, False, "adjudication") is False
    assert select_effective_verdict(True, DISPUTED, "disputed") is True
    assert select_effective_verdict(True, "unsure", None) is True


def test_sql_equals_python() -> None:
    """Check every combination of verdicts of three sources and the annotators."""
    values = (None, True, False)
    effective = effective_verdict_sql("t.human", "t.decided_by", "t.derived", "t")
    text = (
        f"SELECT {effective}, {decision_origin_sql('t.decided_by', 't')}"
        " FROM (SELECT $1::BOOLEAN AS official, $2::BOOLEAN AS rule, $3::BOOLEAN AS judge,"
        " $4::BOOLEAN AS human,"
        " $5::VARCHAR AS decided_by, $6::BOOLEAN AS derived) t"
    )
    connection = duckdb.connect()
    for *automatic, human, decided_by, derived in product(
        values, values, values, (True, False), DECISIONS, values
    ):
        found = connection.execute(text, [*automatic, human, decided_by, derived]).fetchone()
        scored: dict[SourceName, Any] = dict(zip(SOURCES, automatic, strict=True))
        first = next((source for source, value in scored.items() if value is not None), None)
        assert found == (
            select_effective_verdict(select_automatic_verdict(scored), human, decided_by, derived),
            decided_by or first,
        )
