"""`fcreview sql` can only read the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.store import database
from fcreview.store.database import SqlError
from fcreview.store.store import Store, View
from tests.store.factory import Imported


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, imported: Imported) -> Iterator[Store]:
    """A shared store, so that later tests notice a change by a statement."""
    place = tmp_path_factory.mktemp("sql")
    with Store.open(imported(place, {"a": [{}, {"official": True}]}), "alice") as store:
        yield store


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ("SELECT count(*) AS n FROM items", ["n"], (2,)),
        ("WITH x AS (SELECT 1 AS one) SELECT * FROM x;", ["one"], (1,)),
        ("FROM items SELECT id ORDER BY id", ["id"], ("simple_0",)),
        ("SELECT role FROM messages ORDER BY item, step", ["role"], ("user",)),
        (
            "SELECT name, arguments->>'city' AS c FROM calls WHERE side = 'predicted'",
            ["name", "c"],
            ("get_weather", "Hangzhou, CN"),
        ),
        ("SELECT state, diff[1].path AS p FROM pairs", ["state", "p"], ("!", "city")),
        ("SELECT source, value FROM verdicts", ["source", "value"], ("official", "false")),
        ("SELECT name FROM functions", ["name"], ("get_weather",)),
        ("SELECT kind FROM sources", ["kind"], ("result",)),
        ("SELECT count(*) AS n FROM labels", ["n"], (2,)),
        ("SELECT count(*) AS n FROM reviews", ["n"], (0,)),
        ("SELECT count(*) AS n FROM import_issues", ["n"], (0,)),
        ("DESCRIBE runs", None, ("run",)),
        ("SHOW TABLES", None, None),
        ("SUMMARIZE SELECT run FROM items", None, ("run",)),
        ("EXPLAIN SELECT * FROM items", None, None),
        ("VALUES (3)", None, (3,)),
    ],
)
def test_allowed_statements(
    store: Store, text: str, columns: list[str] | None, first: tuple[object, ...] | None
) -> None:
    names, rows = store.run_sql(text)
    assert rows
    assert columns is None or names == columns
    assert first is None or rows[0][: len(first)] == first


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "DROP TABLE item_rows",
        "DELETE FROM runs",
        "UPDATE item_rows SET official = true",
        "INSERT INTO runs (run) VALUES (9)",
        "CREATE TABLE x (a INTEGER)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "DROP VIEW human",
        "ATTACH ':memory:' AS x",
        "ATTACH '{out}' AS x",
        "DETACH store",
        "USE temp",
        "COPY runs TO '{out}'",
        "COPY (SELECT 1) TO '{out}'",
        "EXPORT DATABASE '{out}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_json('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM sniff_csv('{secret}')",
        "SELECT * FROM parquet_metadata('{secret}')",
        "SELECT * FROM query('COPY runs TO ''{out}''')",
        "WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x",
        "SELECT (SELECT content FROM read_text('{secret}'))",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "PRAGMA memory_limit = '3GB'",
        "RESET memory_limit",
        "CALL enable_logging()",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "CHECKPOINT",
        "VACUUM",
        "BEGIN",
        "COMMIT",
        "SELECT getenv('HOME')",
        "SELECT '\ud800'",
        "WITH x AS (INSERT INTO item_rows (id) VALUES ('x') RETURNING id) SELECT * FROM x",
    ],
)
def test_other_statements_are_refused(store: Store, tmp_path: Path, text: str) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out.csv"
    secret.write_text("a\nsecret\n")
    with pytest.raises(SqlError) as caught:
        store.run_sql(text.replace("{secret}", str(secret)).replace("{out}", str(out)))
    assert "secret\n" not in str(caught.value)
    assert not out.exists()
    assert store.count_items(View()) == 2
    assert store.run_sql("SELECT count(*) FROM items")[1] == [(2,)]


@pytest.mark.parametrize(
    "text",
    [
        "WITH x AS (INSERT INTO review_events (event) VALUES ('x') RETURNING event) SELECT * FROM"
        " x",
        "EXPLAIN ANALYZE INSERT INTO review_events (event) VALUES ('x')",
        "EXPLAIN ANALYZE DELETE FROM human_labels",
    ],
)
def test_reviews_in_memory_cannot_be_changed(store: Store, text: str) -> None:
    try:
        store.run_sql(text)
    except SqlError:
        pass
    assert store.run_sql("SELECT count(*) FROM review_events")[1] == [(0,)]


def test_store_works_after_sql(store: Store) -> None:
    store.run_sql("SELECT 1")
    view = View(where="official:pass")
    assert store.count_items(view) == 1
    assert store.read_detail(store.fetch_page(view, 0, 1)[0].item).item.official is True


def test_time_with_a_zone_has_a_helpful_error(store: Store) -> None:
    with pytest.raises(SqlError, match=r"column t .*::VARCHAR"):
        store.run_sql("SELECT now() AS t")
    assert store.run_sql("SELECT now()::VARCHAR AS t")[0] == ["t"]


def test_too_many_rows_are_refused_early(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_SQL_ROWS", 1000)
    assert len(store.run_sql("FROM range(1000)")[1]) == 1000
    with pytest.raises(SqlError, match="more than 1,000 rows"):
        store.run_sql("FROM range(1001)")
    assert store.run_sql("SELECT 1")[1] == [(1,)]


ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(1000) b"


@pytest.mark.parametrize(
    "text",
    [
        ENDLESS,
        f"EXPLAIN ANALYZE {ENDLESS}",
        "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
        "SELECT max(regexp_replace(repeat('a', 100000), '(a*)*b', 'x', 'g')) FROM range(100000000)",
    ],
)
def test_slow_statement_is_cancelled_and_the_store_works(store: Store, text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(SqlError, match=r"timed out after 0\.3 seconds\. .*--seconds|Out of Memory"):
        store.run_sql(text, 0.3)
    assert time.monotonic() - begun < 10
    assert store.run_sql("SELECT 1")[1] == [(1,)]
    assert store.count_items(View()) == 2
