"""An export is written completely or not at all, and existing files are not lost."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.errors import EXIT_USAGE_ERROR
from fcreview.exporters import export as placing
from fcreview.exporters.base import EXPORTERS, ExportError, ExportFormat, ExportSource, Sink
from fcreview.exporters.export import ExportOutput, OverwriteRules, open_output_file
from fcreview.exporters.export import export as export_items
from fcreview.store.filters.parser import FilterError
from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.exporters.export_fixtures import read_labels
from tests.tui.review.test_drafts import limit_file_size

KILLED = """
import os, signal, sys
from pathlib import Path
from fcreview.exporters.base import ExportFormat
from fcreview.exporters.export import ExportOutput, export
from fcreview.exporters.base import EXPORTERS
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

def file(source, out):
    out.write(b"half")
    out.flush()
    os.kill(os.getpid(), signal.SIGKILL)

def folder(source, place):
    (place / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

EXPORTERS["file"] = ExportFormat("file", "", "text", lambda: file)
EXPORTERS["folder"] = ExportFormat("folder", "", "folder", lambda: folder)
with Store.open(find_workspace(Path(sys.argv[1]))) as store:
    export(store, sys.argv[2], sys.argv[3], output=ExportOutput(force=True))
"""


def export(store: Store, name: str, out: str | Path, view: View | None = None) -> dict[str, int]:
    return export_items(store, name, out, view, ExportOutput(force=True))


def fail_in_file(problem: BaseException) -> Callable[[ExportSource, Sink], None]:
    def write(source: ExportSource, out: Sink) -> None:
        out.write(b"half")
        raise problem

    return write


def fail_in_folder(problem: BaseException) -> Callable[[ExportSource, Path], None]:
    def write(source: ExportSource, folder: Path) -> None:
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("half")
        raise problem

    return write


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_failed_export_keeps_the_existing_file(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    out.write_text("precious")
    for format_, where, error in (
        ("xlsx", "", ExportError),
        ("csv", "official:perhaps", FilterError),
    ):
        with pytest.raises(error):
            export(store, format_, out, View(where=where))
    store.connection.execute("ALTER TABLE temp.human_labels DROP COLUMN fault")
    with pytest.raises(Exception, match="fault"):
        export(store, "csv", out)
    assert out.read_text() == "precious"
    assert list_names(tmp_path) == ["labels.csv", "runs"]


@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), RuntimeError("bad"), OSError(28, "No space left on device")]
)
def test_interrupted_export_keeps_existing_files(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    monkeypatch.setitem(
        EXPORTERS, "file", ExportFormat("file", "", "text", lambda: fail_in_file(problem))
    )
    monkeypatch.setitem(
        EXPORTERS, "folder", ExportFormat("folder", "", "folder", lambda: fail_in_folder(problem))
    )
    (tmp_path / "old.txt").write_text("precious")
    (tmp_path / "empty").mkdir()
    expected = ExportError if isinstance(problem, OSError) else type(problem)
    for name, out in (
        ("file", "old.txt"),
        ("file", "new.txt"),
        ("folder", "empty"),
        ("folder", "new"),
    ):
        with pytest.raises(expected):
            export(store, name, tmp_path / out)
    assert (tmp_path / "old.txt").read_text() == "precious"
    assert list_names(tmp_path) == ["empty", "old.txt", "runs"]
    assert list_names(tmp_path / "empty") == []


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.usefixtures("formats")
@pytest.mark.parametrize("name", ["file", "folder"])
def test_killed_export_keeps_existing_files(store: Store, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    if name == "file":
        out.write_text("precious")
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "runs"), name, str(out)]
    assert subprocess.run(arguments, check=False, timeout=60).returncode == -signal.SIGKILL
    assert out.read_text() == "precious" if name == "file" else not out.exists()
    left = [path for path in tmp_path.iterdir() if path.name not in ("out", "runs")]
    assert all(path.name.startswith(".out.") for path in left)
    export(store, "csv" if name == "file" else "dialogues", out)
    assert list_names(tmp_path) == ["out", "runs"], "the next export deletes temporary files"


def test_only_own_abandoned_temporary_files_are_deleted(store: Store, tmp_path: Path) -> None:
    """Files of running processes, other machines and other programs are kept."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = placing._build_temporary_prefix(Path("out")).split(".")[3]
    kept = [
        f".out.fcreview.{host}.{os.getpid()}.a.part",
        f".out.fcreview.elsewhere.{gone.pid}.a.part",
        f".out.fcreview.{host}.{gone.pid}.a.txt",
        f".other.fcreview.{host}.{gone.pid}.a.part",
        ".out.swp",
        ".out.1.part",
    ]
    for name in [*kept, f".out.fcreview.{host}.{gone.pid}.a.part"]:
        (tmp_path / name).write_text("half")
    (tmp_path / f".out.fcreview.{host}.{gone.pid}.b.part").symlink_to(tmp_path / ".out.swp")
    export(store, "csv", tmp_path / "out")
    assert list_names(tmp_path) == sorted([*kept, "out", "runs"])


@pytest.mark.usefixtures("formats")
def test_folder_export_replaces_only_an_empty_folder(store: Store, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious").write_text("precious")
    with pytest.raises(ExportError, match="not empty"):
        export(store, "dialogues", full)
    with pytest.raises(ExportError, match="writes a folder"):
        export(store, "dialogues", full / "precious")
    assert list_names(full) == ["precious"]
    assert (full / "precious").read_text() == "precious"
    empty, link = tmp_path / "empty", tmp_path / "link"
    empty.mkdir(mode=0o750)
    link.symlink_to(empty)
    export(store, "dialogues", link)
    assert link.is_symlink()
    assert list_names(empty) == ["maple-8b"]
    assert stat.S_IMODE(empty.stat().st_mode) == 0o750
    with pytest.raises(ExportError, match="not empty"):
        export(store, "dialogues", empty)
    export(store, "dialogues", tmp_path / "fresh")
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "runs").stat().st_mode
    )
    assert list_names(tmp_path) == ["empty", "fresh", "full", "link", "runs"]


@pytest.mark.usefixtures("formats")
def test_folder_created_during_the_export_is_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def write(source: ExportSource, folder: Path) -> None:
        out.mkdir()
        (out / "precious").write_text("precious")

    monkeypatch.setitem(EXPORTERS, "slow", ExportFormat("slow", "", "folder", lambda: write))
    with pytest.raises(ExportError):
        export(store, "slow", out)
    assert list_names(out) == ["precious"]
    assert list_names(tmp_path) == ["out", "runs"]


def test_full_disk_keeps_the_manifest_of_the_earlier_export(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the rows is written last, from a buffer, and the manifest is smaller."""

    def write_rows(source: ExportSource, out: Sink) -> None:
        out.write(b"row\n" * 1500)
        source.make_manifest = lambda: {"rows": 1500}

    monkeypatch.setitem(EXPORTERS, "rows", ExportFormat("rows", "", "text", lambda: write_rows))
    out = tmp_path / "out.jsonl"
    manifest = tmp_path / "out.jsonl.manifest.json"
    out.write_text("old")
    manifest.write_text("of the old rows")
    with limit_file_size(3000), pytest.raises(ExportError, match="File too large"):
        export(store, "rows", out)
    assert (out.read_text(), manifest.read_text()) == ("old", "of the old rows")
    assert list_names(tmp_path) == [out.name, manifest.name, "runs"]
    export(store, "rows", out)
    assert "1500" in manifest.read_text()


def test_unwritable_path_is_an_export_error(store: Store, tmp_path: Path) -> None:
    for out in (tmp_path / "no" / "such" / "folder.csv", tmp_path):
        with pytest.raises(ExportError):
            export(store, "csv", out)


def test_unknown_format_is_a_usage_error(store: Store, tmp_path: Path) -> None:
    for out in ("-", tmp_path / "labels"):
        with pytest.raises(
            ExportError, match="csv, eee, generic, golden-patch, hf, inspect, jsonl"
        ) as error:
            export(store, "xlsx", out)
        assert error.value.exit_code == EXIT_USAGE_ERROR


def test_permissions_are_kept_and_links_followed(store: Store, tmp_path: Path) -> None:
    target, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    export(store, "jsonl", link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert len(read_labels("jsonl", target)) == 5


@pytest.mark.process
def test_export_to_a_pipe(store: Store, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        export(store, "jsonl", pipe)
        assert len(reader.communicate(timeout=60)[0].splitlines()) == 5
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_link_to_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("out")
    with open_output_file(tmp_path / "out", OverwriteRules()) as file:
        file.write(b"whole")
    assert (tmp_path / "out").read_bytes() == b"whole"
