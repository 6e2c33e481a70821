"""Lakes work in an object store and on a Dask cluster.

`make cluster` installs the needed packages.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done, environment, run_in_this_process

server = pytest.importorskip("moto.server", reason="moto is not installed: make cluster")
s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: make cluster")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: make cluster")

TABLES = (
    "items",
    "messages",
    "calls",
    "pairs",
    "verdicts",
    "functions",
    "import_issues",
    "sources",
    "runs",
)


class LakeFolder:
    """Run fcreview in a folder, with the credentials of an object store."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder, self.environ = folder, environment(folder, **variables)

    def __call__(self, *arguments: str | Path) -> Done:
        return run_in_this_process(arguments, self.folder, self.environ)

    def fetch_rows(self, lake: str | Path, table: str) -> list[dict[str, Any]]:
        done = self(
            "sql",
            lake,
            f"FROM {table} ORDER BY ALL",
            "--json",
            "--workspace",
            self.folder / "reviews",
        )
        assert done.code == 0, done.err
        return done.objects


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> LakeFolder:
    """A lake of the sample runs in the folder `lake`."""
    folder = LakeFolder(tmp_path_factory.mktemp("cluster"))
    assert folder("import", samples, "--lake", "lake").code == 0
    return folder


@pytest.fixture(scope="module")
def bucket(place: LakeFolder) -> Iterator[str]:
    """A bucket of an object store on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = server.ThreadedMotoServer("127.0.0.1", port=port, verbose=False)
    running.start()
    with pytest.MonkeyPatch.context() as patch:
        url = f"http://127.0.0.1:{port}"
        for name, value in {
            "ACCESS_KEY_ID": "a",
            "SECRET_ACCESS_KEY": "b",
            "ENDPOINT_URL": url,
        }.items():
            patch.setenv(f"AWS_{name}", value)
            place.environ[f"AWS_{name}"] = value
        s3fs.S3FileSystem().mkdir("archive")
        yield "s3://archive"
    running.stop()


def test_lake_in_object_store_equals_lake_in_folder(
    place: LakeFolder, samples: Path, bucket: str
) -> None:
    lake = f"{bucket}/runs/lake"
    for part in ("1/2", "2/2"):
        done = place("import", samples, "--lake", lake, "--part", part)
        assert done.code == 0, done.err
    for table in TABLES:
        assert place.fetch_rows(lake, table) == place.fetch_rows("lake", table)
    for command in (
        ["runs", "--json"],
        ["triage", "--json"],
        ["report", "--json"],
        ["items", "--limit", "50"],
    ):
        name, *options = command
        outputs = [
            place(name, where, *options, "--workspace", place.folder / "reviews").out
            for where in (lake, "lake")
        ]
        assert outputs[0] == outputs[1]


def test_reviews_of_object_store_are_saved_locally(
    place: LakeFolder, samples: Path, bucket: str
) -> None:
    lake = f"{bucket}/second"
    assert place("import", samples / "bfcl", "--lake", lake).code == 0
    mine = ["--workspace", place.folder / "mine"]
    row = place("items", lake, "--json", *mine).objects[0]
    assert (
        place("label", lake, row["id"], "--run", str(row["run"]), "--verdict", "fail", *mine).code
        == 0
    )
    assert (place.folder / "mine/.fcreview/reviews/tester.jsonl").is_file()
    opened = place("open", lake, "--where", "reviewed", *mine)
    assert "copied 1 item" in opened.err
    assert len(place("items", place.folder / "mine", "--json").objects) == 1


@pytest.mark.parametrize(
    "query", ["SELECT * FROM read_text('/etc/hostname')", "SELECT * FROM glob('s3://archive/*')"]
)
def test_sql_cannot_read_outside_object_store(
    place: LakeFolder, samples: Path, bucket: str, query: str
) -> None:
    lake = f"{bucket}/third"
    assert place("import", samples / "generic", "--lake", lake).code == 0
    done = place("sql", lake, query, "--workspace", place.folder / "reviews")
    assert done.code == 1
    assert "Permission Error" in done.err


def test_missing_object_store_is_reported_in_one_line(place: LakeFolder, bucket: str) -> None:
    done = place("runs", "s3://no-such-bucket/lake", "--workspace", place.folder / "reviews")
    assert done.code == 1
    assert len(done.err.strip().splitlines()) == 1
    assert "there is no bucket no-such-bucket" in done.err


def test_mistyped_address_says_that_there_is_no_lake(place: LakeFolder, bucket: str) -> None:
    done = place("runs", f"{bucket}/typo", "--workspace", place.folder / "reviews")
    assert done.code == 1
    assert f"there is no lake at {bucket}/typo" in done.err


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Dask cluster of two processes."""
    with distributed.LocalCluster(
        2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as running:
        yield running.scheduler_address


def test_cluster_writes_same_lake(place: LakeFolder, samples: Path, cluster: str) -> None:
    done = place("import", samples, "--lake", "from-cluster", "--dask", cluster, "--json")
    assert done.code == 0, done.err
    assert sum(row["items"] for row in done.objects if row["kind"] == "run") > 100
    one, other = (
        {p.relative_to(f): p.read_bytes() for p in f.glob("benchmark=*/*/*")}
        for f in (place.folder / "lake", place.folder / "from-cluster")
    )
    assert one == other
    for table in TABLES:
        assert place.fetch_rows("from-cluster", table) == place.fetch_rows("lake", table)


def test_missing_cluster_is_reported_in_one_line(
    place: LakeFolder, samples: Path, cluster: str
) -> None:
    done = place("import", samples, "--lake", "nothing", "--dask", "nonsense", "--json")
    assert done.code == 1
    assert len(done.err.strip().splitlines()) == 1
