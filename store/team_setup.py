"""Create and upgrade the tables and functions of a team server (`fcreview team create`).

Members may exchange reviews meanwhile. So the tables are locked only if they change, and all locks
are taken before anything else is changed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.store.team_server import (
    SCHEMA_VERSION,
    ServerAddress,
    TeamError,
    load_driver,
    make_password_and_verifier,
    make_version_error,
    open_connection,
    translate_errors,
)

if TYPE_CHECKING:
    from psycopg import Connection

# SQL files that upgrade the tables by one version each, up to `SCHEMA_VERSION`
MIGRATIONS = (
    "team_schema.sql",
    "team_schema_2.sql",
)
# Each function reads this table before the others, except `schema_version`.
FIRST_TABLE = "member"
LOCK_ATTEMPTS = 20
LOCK_SECONDS = 3  # longest time for which an attempt waits for members, who then wait too
PAUSE_SECONDS = 0.2  # pause after a failed attempt, so that members continue
_PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")
_ROLES = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_owner') THEN CREATE ROLE fcreview_owner; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_member') THEN CREATE ROLE fcreview_member; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_inviter') THEN
        CREATE ROLE fcreview_inviter CREATEROLE;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolcanlogin
        AND rolname IN ('fcreview_owner', 'fcreview_member', 'fcreview_inviter'))
    THEN
        ALTER ROLE fcreview_owner NOLOGIN;
        ALTER ROLE fcreview_member NOLOGIN;
        ALTER ROLE fcreview_inviter NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = 'fcreview_member'::regrole
        AND member = 'fcreview_inviter'::regrole AND admin_option)
    THEN
        GRANT fcreview_member TO fcreview_inviter WITH ADMIN OPTION;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = 'pg_read_all_stats'::regrole
        AND member = 'fcreview_owner'::regrole)
    THEN
        GRANT pg_read_all_stats TO fcreview_owner;
    END IF;
END $$;
"""
_TABLES_OF_OTHERS = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'fcreview'::regnamespace AND relkind = 'r'
    AND pg_get_userbyid(relowner) <> 'fcreview_owner'
"""
_OWNERS = """
DO $$ DECLARE command text; BEGIN
    FOR command IN
        SELECT 'ALTER TABLE ' || oid::regclass || ' OWNER TO fcreview_owner' FROM pg_class
            WHERE relnamespace = 'fcreview'::regnamespace AND relkind = 'r'
                AND relowner <> 'fcreview_owner'::regrole
        UNION ALL SELECT 'ALTER FUNCTION ' || oid::regprocedure || ' OWNER TO ' || owner
            FROM pg_proc, LATERAL (SELECT CASE proname
                WHEN 'set_login' THEN 'fcreview_inviter' ELSE 'fcreview_owner' END AS owner) o
            WHERE pronamespace = 'fcreview'::regnamespace AND proowner <> owner::regrole
        UNION ALL SELECT 'ALTER SCHEMA fcreview OWNER TO fcreview_owner' FROM pg_namespace
            WHERE nspname = 'fcreview' AND nspowner <> 'fcreview_owner'::regrole
    LOOP EXECUTE command; END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION fcreview.set_login TO fcreview_owner;
"""
_USERS_OF_TABLES = """
SELECT DISTINCT 'process ' || a.pid || ' of ' || coalesce(a.usename::text, 'an unknown login')
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a USING (pid)
WHERE c.relnamespace = 'fcreview'::regnamespace AND c.relkind = 'r' AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.pid <> pg_backend_pid()
ORDER BY 1 LIMIT 3
"""


class CreatedProject(NamedTuple):
    login: str  # login of the lead
    password: str  # one-time password of the lead
    warnings: list[str]  # one message for each unsafe access rule of the server


def create_team(
    address: ServerAddress, project: str, lead: str, reveal_rule: str
) -> CreatedProject:
    """Create or upgrade the tables and functions, and create a project with its lead.
    `reveal_rule`: one of `REVEAL_RULES`. Raises TeamError if the project exists, or if the user
    lacks the privileges.
    """
    if not _PROJECT_NAME.fullmatch(project):
        raise TeamError(
            f"invalid project name {project!a}. Use at most 30 lower-case letters, digits, - and _"
        )
    with open_connection(address) as connection, translate_errors():
        with connection.transaction():
            upgrade_schema(connection)
        password, verifier = make_password_and_verifier(connection)
        login = _fetch_value(
            connection,
            "SELECT fcreview.create_project(%s, %s, %s, %s)",
            [project, reveal_rule, lead, verifier],
        )
        warnings = _find_weak_access_rules(connection)
    return CreatedProject(str(login), password=password, warnings=warnings)


def _find_weak_access_rules(connection: Connection[Any]) -> list[str]:
    """Describe the lines of pg_hba.conf that allow a login without SCRAM.

    Return none if the file is unreadable.
    """
    import psycopg

    try:
        rows = connection.execute(
            "SELECT line_number, type, auth_method FROM pg_hba_file_rules"
            " WHERE auth_method IN ('trust', 'password', 'md5') AND NOT 'replication' = ANY"
            " (database)"
        ).fetchall()
    except psycopg.Error:
        return []
    return [
        f"pg_hba.conf line {number} ({kind}) uses {method}, which is not safe"
        for number, kind, method in rows
    ]


def upgrade_schema(connection: Connection[Any]) -> None:
    """Upgrade the tables on the team's server to `SCHEMA_VERSION`, and replace the functions.

    Must run in a transaction. Raises TeamError if the tables are newer than this fcreview, or if
    members use them all the time.

    The order of the steps matters: tables are locked before they change, and the SQL files grant
    rights to the roles. Old lines are completed by one of the new functions. The owners come last,
    because what the steps create belongs to the administrator.
    """
    _create_and_claim_schema(connection)
    version = _fetch_version(connection)
    if version > SCHEMA_VERSION:
        raise make_version_error(version)

    if version > 0 and _must_change_tables(connection, version):
        _lock_tables(connection)
    connection.execute(_ROLES)
    for number, name in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(_read_sql(name))
        connection.execute("INSERT INTO fcreview.migration (version) VALUES (%s)", [number])
    connection.execute(_read_sql("team_functions.sql"))
    if _has_incomplete_lines(connection):
        _complete_old_lines(connection)
    connection.execute(_OWNERS)


def _create_and_claim_schema(connection: Connection[Any]) -> None:
    """Create the schema if it does not exist, and lock out other administrators until the
    transaction ends.

    The lock is on a table that members only read, so members can go on. It is no advisory lock,
    because any member could hold that.
    """
    import psycopg

    try:
        with connection.transaction():
            connection.execute("CREATE SCHEMA IF NOT EXISTS fcreview")
    except psycopg.errors.UniqueViolation:
        # Another administrator created it at the same time.
        pass
    if _has_tables(connection):
        connection.execute("LOCK TABLE fcreview.migration IN SHARE ROW EXCLUSIVE MODE")


def _has_tables(connection: Connection[Any]) -> bool:
    return bool(_fetch_value(connection, "SELECT to_regclass('fcreview.migration') IS NOT NULL"))


def _fetch_version(connection: Connection[Any]) -> int:
    """Return the version of the tables; 0 if there are none."""
    if not _has_tables(connection):
        return 0
    return int(_fetch_value(connection, "SELECT max(version) FROM fcreview.migration") or 0)


def _must_change_tables(connection: Connection[Any], version: int) -> bool:
    if version < SCHEMA_VERSION or _has_incomplete_lines(connection):
        return True
    return bool(connection.execute(_TABLES_OF_OTHERS).fetchall())


def _lock_tables(connection: Connection[Any]) -> None:
    """Lock all tables of the team's database, so that no member uses them while they change.

    Each request of a member locks `FIRST_TABLE` before other tables. So this function waits for
    `FIRST_TABLE`, and then expects the others to be free. If one is not, it gives up all locks and
    tries again after a pause, which avoids a deadlock. Raises TeamError after several attempts.
    """
    psycopg = load_driver()
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'fcreview'::regnamespace"
        " AND relkind = 'r' AND relname NOT IN ('migration', %s) ORDER BY relname",
        [FIRST_TABLE],
    ).fetchall()
    for _ in range(LOCK_ATTEMPTS):
        try:
            with connection.transaction():
                _lock_first_table_and_others(connection, [table for (table,) in tables])
            return
        except psycopg.errors.LockNotAvailable:
            time.sleep(PAUSE_SECONDS)

    users = ", ".join(name for (name,) in connection.execute(_USERS_OF_TABLES).fetchall())
    raise TeamError(
        f"the tables must change, but members use them all the time ({users or 'unknown'})."
        " Try again later, or end these processes with pg_terminate_backend"
    )


def _lock_first_table_and_others(connection: Connection[Any], others: Sequence[str]) -> None:
    """Wait for the lock of `FIRST_TABLE`, and then lock the other tables, which must be free."""
    connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
    connection.execute(f"LOCK TABLE fcreview.{FIRST_TABLE}")
    for table in others:
        connection.execute(f"LOCK TABLE fcreview.{table} NOWAIT")
    # With all locks, later statements wait for nobody, and need no limit.
    connection.execute("SET LOCAL lock_timeout = 0")


def _has_incomplete_lines(connection: Connection[Any]) -> bool:
    """Whether lines of an older version lack the columns of this version."""
    sql = "SELECT EXISTS (SELECT FROM fcreview.line WHERE place IS NULL)"
    return bool(_fetch_value(connection, sql))


def _complete_old_lines(connection: Connection[Any]) -> None:
    """Fill the columns that older versions of the tables lack.

    This may take minutes on a large server.
    """
    connection.execute("SET LOCAL statement_timeout = 0")
    # The trigger forbids to change lines.
    connection.execute("ALTER TABLE fcreview.line DISABLE TRIGGER append_only")
    connection.execute("SELECT fcreview.complete_lines()")
    connection.execute("ALTER TABLE fcreview.line ENABLE TRIGGER append_only")


def _fetch_value(connection: Connection[Any], sql: str, values: list[Any] | None = None) -> Any:
    """Return the value of a query with one row and one column."""
    ((value,),) = connection.execute(sql.encode(), values).fetchall()
    return value


def _read_sql(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
