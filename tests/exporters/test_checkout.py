"""Checkouts of a benchmark's repository, which may come from somebody else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fcreview.exporters.base import ExportError
from fcreview.exporters.upstream import checkout
from fcreview.exporters.upstream.checkout import GitCheckout
from fcreview.exporters.upstream.repositories import REPOSITORIES

ANSWERS = "data/answers.json"


def run_git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one committed file."""
    root = tmp_path / "repository"
    (root / "data").mkdir(parents=True)
    (root / ANSWERS).write_text("{}\n")
    run_git(root, "init", "-q")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "dataset")
    return root


def test_reading_a_checkout_starts_no_program_that_its_configuration_names(
    repository: Path, tmp_path: Path
) -> None:
    """In a partial clone, git fetches missing files with the transport of the configuration."""
    mark = tmp_path / "started"
    blob = run_git(repository, "rev-parse", f"HEAD:{ANSWERS}")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::sh -c touch% {mark}",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "protocol.ext.allow": "always",
    }
    for name, value in settings.items():
        run_git(repository, "config", name, value)

    files = GitCheckout.open(repository, None)
    with pytest.raises(ExportError, match="cannot be read from the checkout"):
        files.read(ANSWERS)
    assert not mark.exists()


def test_file_of_a_checkout_is_read_unless_it_is_missing_or_too_large(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = GitCheckout.open(repository, None)
    assert files.read(ANSWERS) == b"{}\n"
    assert files.read("data/other.json") is None
    monkeypatch.setattr(checkout, "MAX_BLOB_BYTES", 2)
    with pytest.raises(ExportError, match="larger than"):
        files.read(ANSWERS)


def test_link_to_a_file_has_no_markup_or_line_break_of_its_name() -> None:
    path = "data/a) ![x](http:b\n\x1b[31m\udcff.json"
    link = REPOSITORIES["bfcl"].make_link("0123456", path, (1, 2))
    assert link == (
        "https://github.com/ShishirPatil/gorilla/blob/0123456/"
        "data/a%29%20%21%5Bx%5D%28http%3Ab%0A%1B%5B31m%FF.json#L1-L2"
    )
