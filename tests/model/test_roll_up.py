"""From many opinions and several sources to the verdict that counts; in Python and in SQL."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import pytest

from fcreview.model.item import SourceName
from fcreview.model.verdict import (
    DISPUTED,
    RESOLUTIONS,
    SCORING_ORDER,
    DecidedBy,
    agreed_verdict,
    automatic_verdict,
    effective_verdict,
)
from fcreview.store.reviews.review_sql import decided_by_sql
from fcreview.store.reviews.review_sql import effective_sql as effective_sql

SOURCES: tuple[SourceName, ...] = SCORING_ORDER
HOW: tuple[DecidedBy | None, ...] = (None, "disputed", *RESOLUTIONS)


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
def test_annotators_agree_or_differ(opinions: list[Any], verdict: Any) -> None:
    assert agreed_verdict(opinions) == verdict


def test_the_benchmark_scores_by_the_first_source_that_says_something() -> None:
    assert automatic_verdict({"official": None, "rule": False, "judge": True}) is False
    assert automatic_verdict({"official": False, "rule": True, "judge": True}) is False
    assert automatic_verdict({"judge": True}) is True
    assert automatic_verdict({}) is None


def test_people_outweigh_the_benchmark_and_a_dispute_leaves_its_verdict() -> None:
    assert effective_verdict(True, False, "unanimous") is False
    assert effective_verdict(True, False, "adjudication") is False
    assert effective_verdict(True, DISPUTED, "disputed") is True
    assert effective_verdict(True, "unsure", None) is True


def test_sql_says_what_python_says() -> None:
    """Every combination of what three sources and the annotators can say."""
    values = (None, True, False)
    text = (
        f"SELECT {effective_sql('t.human', 't.decided_by', 't')}, {decided_by_sql('t.decided_by', 't')}"
        " FROM (SELECT $1::BOOLEAN AS official, $2::BOOLEAN AS rule, $3::BOOLEAN AS judge, $4::BOOLEAN AS human,"
        " $5::VARCHAR AS decided_by) t"
    )
    connection = duckdb.connect()
    for *said, human, how in product(values, values, values, (True, False), HOW):
        found = connection.execute(text, [*said, human, how]).fetchone()
        scored: dict[SourceName, Any] = dict(zip(SOURCES, said, strict=True))
        first = next((source for source, value in scored.items() if value is not None), None)
        assert found == (effective_verdict(automatic_verdict(scored), human, how), how or first)
