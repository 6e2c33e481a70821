"""Creation and upgrade of the tables and functions of a team server, by its administrator."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fcreview.store.team.address import ServerAddress
from fcreview.store.team.server import SCHEMA_VERSION, TeamError, make_password, open_connection, translate_errors

if TYPE_CHECKING:
    from psycopg import Connection

MIGRATIONS = ("schema.sql",)
"""Files that lead from each version of the tables to the next one, from nothing to `SCHEMA_VERSION`."""
_PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")
_LOCK = 0x66637265
"""Advisory lock, so that two administrators do not create the tables at the same time."""
_ROLES = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_owner') THEN CREATE ROLE fcreview_owner; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_member') THEN CREATE ROLE fcreview_member; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_inviter') THEN
        CREATE ROLE fcreview_inviter CREATEROLE;
    END IF;
END $$;
ALTER ROLE fcreview_owner NOLOGIN;
ALTER ROLE fcreview_member NOLOGIN;
ALTER ROLE fcreview_inviter NOLOGIN;
GRANT fcreview_member TO fcreview_inviter WITH ADMIN OPTION;
GRANT pg_read_all_stats TO fcreview_owner;
CREATE SCHEMA IF NOT EXISTS fcreview;
"""
_OWNERS = """
DO $$ DECLARE command text; BEGIN
    FOR command IN
        SELECT 'ALTER TABLE ' || oid::regclass || ' OWNER TO fcreview_owner' FROM pg_class
            WHERE relnamespace = 'fcreview'::regnamespace AND relkind = 'r'
        UNION ALL SELECT 'ALTER FUNCTION ' || oid::regprocedure || ' OWNER TO '
                || CASE proname WHEN 'set_login' THEN 'fcreview_inviter' ELSE 'fcreview_owner' END
            FROM pg_proc WHERE pronamespace = 'fcreview'::regnamespace
        UNION ALL SELECT 'ALTER SCHEMA fcreview OWNER TO fcreview_owner'
    LOOP EXECUTE command; END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION fcreview.set_login TO fcreview_owner;
"""


def create_team(address: ServerAddress, project: str, lead: str, reveal: str) -> tuple[str, str, list[str]]:
    """Create or upgrade the tables and functions, and create a project.

    Returns its lead's login and one-time password, and warnings about the server. Raises TeamError if the project
    exists (then only the upgrade is done), or if the login lacks the rights.
    """
    if not _PROJECT_NAME.fullmatch(project):
        raise TeamError(f"invalid project name {project!a}: use lower-case letters, digits, - and _, at most 30")
    with open_connection(address) as connection, translate_errors():
        with connection.transaction():
            upgrade_schema(connection)
        password, verifier = make_password(connection)
        values = (project, reveal, lead, verifier)
        login = str(connection.execute("SELECT fcreview.create_project(%s, %s, %s, %s)", values).fetchall()[0][0])
        return login, password, find_weak_access_rules(connection)


def find_weak_access_rules(connection: Connection[Any]) -> list[str]:
    """Describe the lines of pg_hba.conf that let somebody in without SCRAM. Empty if the login may not read them."""
    import psycopg

    try:
        rows = connection.execute(
            "SELECT line_number, type, auth_method FROM pg_hba_file_rules"
            " WHERE auth_method IN ('trust', 'password', 'md5') AND NOT 'replication' = ANY (database)"
        ).fetchall()
    except psycopg.Error:
        return []
    return [f"pg_hba.conf line {number} ({kind}) uses {method}, which is not safe" for number, kind, method in rows]


def upgrade_schema(connection: Connection[Any]) -> None:
    """Bring the tables to `SCHEMA_VERSION`, and replace the functions. Raises TeamError for a newer server."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    row = connection.execute("SELECT to_regclass('fcreview.migration') IS NOT NULL").fetchone()
    version = 0
    if row is not None and row[0]:
        version = connection.execute("SELECT max(version) FROM fcreview.migration").fetchall()[0][0]
    if version > SCHEMA_VERSION:
        raise TeamError(f"the server has version {version}, newer than version {SCHEMA_VERSION}. Update fcreview")
    connection.execute(_ROLES)
    for number, name in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(_read_sql(name))
        connection.execute("INSERT INTO fcreview.migration (version) VALUES (%s)", [number])
    connection.execute(_read_sql("functions.sql"))
    connection.execute(_OWNERS)


def _read_sql(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
