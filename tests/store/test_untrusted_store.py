"""Stores and caches of other users read no files, and are rebuilt or marked if they cannot be
verified.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from fcreview.model.review import Annotation
from fcreview.run_plan import RunPlan
from fcreview.store.database import StoreError, open_store
from fcreview.store.importing.run_importer import ItemSnapshot, import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.decision_cache import load_authentication_key
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported, read, write_run
from tests.store.importing.imported import write_plan

SECRET = "content of a file of the user"  # noqa: S105 - a text to search for
needs_root = pytest.mark.skipif(
    os.getuid() != 0, reason="gives files to another user, which only root can"
)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    return file


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "runs", {"a": [{}, {"official": True}]})


@pytest.fixture
def plan(workspace: Workspace) -> RunPlan:
    return write_plan(workspace.parent_folder, "a")


def run_statements(workspace: Workspace, *statements: str) -> None:
    with duckdb.connect(workspace.store) as connection:
        for statement in statements:
            connection.execute(statement)


def make_reading_view(name: str) -> Callable[[Workspace, Path], None]:
    def make(workspace: Workspace, secret: Path) -> None:
        kind = "TABLE" if name in ("meta", "runs", "item_rows") else "VIEW"
        with duckdb.connect(workspace.store) as connection:
            columns = [row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()]
        selected = ", ".join(f'content AS "{column}"' for column in columns)
        run_statements(
            workspace,
            *(["DROP INDEX item_index"] if name == "item_rows" else []),
            f"DROP {kind} {name}",
            f"CREATE VIEW {name} AS SELECT {selected} FROM read_text('{secret}')",
        )

    make.__name__ = name
    return make


def create_reading_macro(workspace: Workspace, secret: Path) -> None:
    run_statements(workspace, f"CREATE MACRO len(x) AS (SELECT content FROM read_text('{secret}'))")


@pytest.mark.parametrize("name", ["meta", "runs", "item_rows", "items", "messages"])
def test_store_with_a_view_that_reads_a_file_is_rebuilt(
    workspace: Workspace, plan: RunPlan, secret: Path, name: str
) -> None:
    make_reading_view(name)(workspace, secret)
    with pytest.raises(StoreError, match="Import the runs again") as refused:
        Store.open(workspace)
    assert SECRET not in str(refused.value)
    summary = import_runs(workspace, [plan], read)
    assert [row["status"] for row in summary.runs] == ["imported"]
    with Store.open(workspace) as store:
        assert store.find_items("simple_0")


def test_macro_cannot_read_a_file_in_an_import(
    workspace: Workspace, secret: Path, tmp_path: Path
) -> None:
    create_reading_macro(workspace, secret)
    import_runs(workspace, [write_run(tmp_path / "runs" / "b", [{}], "b")], read)
    with duckdb.connect() as own:
        own.execute(f"ATTACH '{workspace.store}' AS s (READ_ONLY)")
        rows = own.execute("SELECT * FROM s.item_rows").fetchall()
        assert rows and SECRET not in repr(rows) + repr(
            own.execute("FROM s.import_issues").fetchall()
        )


def test_connections_cannot_read_other_files(workspace: Workspace, secret: Path) -> None:
    own = duckdb.connect(secret.with_name("other.duckdb"))
    own.execute("CREATE TABLE t AS SELECT 1")
    own.close()
    with Store.open(workspace) as store, ItemSnapshot(workspace) as before:
        for connection in (store.connection, before._connection, open_store(workspace)):
            for statement in (
                f"FROM read_text('{secret}')",
                f"ATTACH '{secret.with_name('other.duckdb')}' AS other",
            ):
                with pytest.raises(duckdb.PermissionException):
                    connection.execute(statement)


def test_foreign_write_ahead_log_is_not_applied(workspace: Workspace, plan: RunPlan) -> None:
    with duckdb.connect(workspace.store, config={"wal_autocheckpoint": "1TB"}) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("UPDATE runs SET model = 'forged'")
    assert workspace.store_log.exists()
    with pytest.raises(StoreError, match=r"store\.duckdb\.wal was written by another program"):
        Store.open(workspace)
    import_runs(workspace, [plan], read)
    assert not workspace.store_log.exists()
    with Store.open(workspace) as store:
        assert [row.info.model for row in store.fetch_runs()] == ["a"]


@needs_root
def test_store_of_another_user_is_rebuilt_if_its_runs_exist(
    workspace: Workspace, plan: RunPlan
) -> None:
    run_statements(workspace, "UPDATE item_rows SET official = NOT official")
    os.chown(workspace.store, 4242, 4242)
    with Store.open(workspace) as store:
        assert not store.is_verified
    summary = import_runs(workspace, [plan], read)
    assert [row["status"] for row in summary.runs] == ["imported"]
    assert any("another user" in issue["what"] for issue in summary.issues)
    with Store.open(workspace) as store:
        assert store.is_verified
        assert [row.official for row in store.fetch_rows(store.find_items("simple_0"))] == [False]


@needs_root
def test_unverified_store_stays_marked_after_other_imports(
    workspace: Workspace, plan: RunPlan, tmp_path: Path
) -> None:
    os.chown(workspace.store, 4242, 4242)
    other = write_run(tmp_path / "runs" / "b", [{}], "b")
    import_runs(workspace, [other], read)
    assert workspace.store.stat().st_uid == os.getuid()
    with Store.open(workspace) as store:
        assert not store.is_verified
        assert len(store.fetch_runs()) == 2
    import_runs(workspace, [plan, other], read)
    with Store.open(workspace) as store:
        assert store.is_verified


@needs_root
def test_store_of_the_group_is_verified(workspace: Workspace) -> None:
    os.chown(workspace.store, 4242, os.getegid())
    with Store.open(workspace) as store:
        assert store.is_verified


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(decision_cache, "MIN_EVENTS", 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def cached_workspace(workspace: Workspace, state: Path) -> Workspace:
    """A workspace with a decision cache for one review, which passes the first item."""
    with Store.open(workspace, "alice") as store:
        Reviewer(store, Journal(workspace, "alice")).review(
            store.find_items("simple_0")[0], Annotation(verdict=True)
        )
    return workspace


def is_cache_used(workspace: Workspace) -> bool:
    """Return whether the store used the cache. Its decision must be right in any case."""
    with Store.open(workspace, "alice") as store:
        assert store.fetch_rows(store.find_items("simple_0"))[0].you is True
        return bool(store.reviews._unread)


def test_only_a_cache_that_the_user_wrote_is_used(cached_workspace: Workspace, state: Path) -> None:
    key = state / "fcreview" / "key"
    assert (key.stat().st_mode & 0o777, key.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert is_cache_used(cached_workspace)
    assert decision_cache.describe_cache_state(cached_workspace) == "verified"
    with duckdb.connect(cached_workspace.decision_cache) as connection:
        connection.execute("UPDATE human_labels SET you = 'false', human = 'false'")
    assert decision_cache.describe_cache_state(cached_workspace).startswith(
        "ignored: not written by this user"
    )
    assert not is_cache_used(cached_workspace)
    assert is_cache_used(cached_workspace), "the cache was written again"


def test_cache_of_another_user_is_not_used(
    cached_workspace: Workspace, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(state.with_name("other")))
    assert not is_cache_used(cached_workspace)
    assert is_cache_used(cached_workspace)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert not is_cache_used(cached_workspace)


def test_key_that_others_can_read_is_replaced(cached_workspace: Workspace, state: Path) -> None:
    key = state / "fcreview" / "key"
    before = key.read_bytes()
    key.chmod(0o644)
    assert not is_cache_used(cached_workspace)
    assert key.read_bytes() != before
    assert is_cache_used(cached_workspace)


def test_no_cache_without_a_writable_home(
    workspace: Workspace, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    with Store.open(workspace, "alice") as store:
        Reviewer(store, Journal(workspace, "alice")).review(
            store.find_items("simple_0")[0], Annotation(verdict=True)
        )
    assert not workspace.decision_cache.exists()
    assert not is_cache_used(workspace)
    assert load_authentication_key(create=True) is None


def test_key_is_created_only_with_a_cache(workspace: Workspace, state: Path) -> None:
    with Store.open(workspace, "alice"):
        pass
    assert load_authentication_key() is None
    assert not state.exists()
