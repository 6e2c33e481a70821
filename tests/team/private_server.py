"""A private PostgreSQL server in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.store.team_server import ServerAddress

_SETTINGS = (
    "fsync = off\nshared_buffers = 16MB\nautovacuum = off\nmax_connections = 60\nssl = on\n"
    "unix_socket_directories = '{folder}'\nlisten_addresses = '127.0.0.1,127.0.0.2,127.0.0.3'\nport"
    " = {port}\n"
)
_ACCESS = "local all all trust\nhost all all 127.0.0.0/8 scram-sha-256\n"


@dataclass
class PostgresServer:
    folder: Path
    binaries: Path
    port: int

    @property
    def admin(self) -> ServerAddress:
        return ServerAddress(str(self.folder), self.port, "postgres", "postgres")

    def address(
        self, user: str, host: str = "127.0.0.1", database: str = "postgres"
    ) -> ServerAddress:
        return ServerAddress(host, self.port, database, user)

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.binaries / program), *arguments]
        if os.geteuid() == 0:  # The server refuses to run as root.
            command = ["runuser", "-u", _owner(), "--", *command]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=self.folder
        ).stdout

    def admin_sql(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self.port, dbname=database, user="postgres", autocommit=True
        ) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []


def _owner() -> str:
    names = [each.pw_name for each in pwd.getpwall()]
    return "postgres" if "postgres" in names else "nobody"


def find_binaries() -> Path | None:
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return (
        Path(found).parent
        if found
        else next((each for each in folders if (each / "initdb").exists()), None)
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(folder: Path, binaries: Path) -> PostgresServer:
    """Start a new server below the folder. Its certificate is for 127.0.0.3 only."""
    if os.geteuid() == 0:
        shutil.chown(folder, _owner())
    server = PostgresServer(folder, binaries, _free_port())
    data = folder / "data"
    server.run(
        "initdb", "-D", str(data), "-U", "postgres", "--no-sync", "-E", "UTF8", "--no-locale"
    )
    subprocess.run(
        [
            *("openssl", "req", "-new", "-x509", "-days", "30", "-nodes", "-newkey", "ec"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=127.0.0.3"),
            *("-addext", "subjectAltName=IP:127.0.0.3"),
            *("-out", str(data / "server.crt"), "-keyout", str(data / "server.key")),
        ],
        check=True,
        capture_output=True,
    )
    (data / "server.key").chmod(0o600)
    with (data / "postgresql.conf").open("a") as file:
        file.write(_SETTINGS.format(folder=folder, port=server.port))
    (data / "pg_hba.conf").write_text(_ACCESS)
    if os.geteuid() == 0:
        for each in (data / "server.crt", data / "server.key"):
            shutil.chown(each, _owner())
    server.run("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w", "start")
    return server
