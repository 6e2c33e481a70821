"""Commands in read-only folders, run by an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import PROGRAM, Done
from tests.faults.hostile.test_run_folders import read_files

ITEM = "special_incomplete_1"
NOBODY = 65534
WHO = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


@pytest.fixture
def other_user(environ: dict[str, str]) -> Iterator[tuple[Path, Callable[..., Done]]]:
    """A folder that everybody can read, and a function that runs fcreview as another user."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        command = WHO if os.geteuid() == 0 else []
        environ |= {"HOME": name, "PYTHONDONTWRITEBYTECODE": "1"}

        def run(*words: str | Path) -> Done:
            done = subprocess.run(
                [*command, *PROGRAM, *map(str, words)],
                capture_output=True,
                text=True,
                env=environ,
                cwd=place,
                timeout=60,
            )
            return Done(done.returncode, done.stdout, done.stderr)

        if command and (not shutil.which("setpriv") or run("--version").code):
            pytest.skip("other users cannot run the program here")
        yield place, run
        for path in [place, *place.rglob("*")]:
            if path.is_dir() and os.geteuid():
                path.chmod(0o755)


def make_read_only(place: Path) -> Path:
    for path in [place, *place.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return place


@pytest.mark.sweep
def test_read_only_workspace_can_be_read_and_writing_fails(
    sample: Path, other_user: tuple[Path, Callable[..., Done]]
) -> None:
    home, run = other_user
    place = make_read_only(shutil.copytree(sample, home / "runs"))
    before = read_files(home)
    for words in (
        ["items"],
        ["report"],
        ["triage"],
        ["runs"],
        ["show", ITEM, "--run", "1"],
        ["export"],
        ["doctor"],
    ):
        done = run(words[0], place, *words[1:])
        assert done.code == 0, (words, done.err)
        assert done.out
    for words in (
        ["label", ITEM, "--run", "1", "--verdict", "pass"],
        ["export", "-o", str(place / "labels.jsonl")],
        ["export", "--format", "native", "-o", str(place / "new")],
        ["queue", "create", "--name", "mine"],
    ):
        where = words[:2] if words[0] == "queue" else words[:1]
        done = run(*where, place, *words[len(where) :])
        assert done.code in (1, 2), (words, done.out)
        assert done.out == ""
        assert "Traceback" not in done.err
        assert "internal error" not in done.err, (words, done.err)
        assert "saved" not in done.err or "not saved" in done.err
    assert read_files(home) == before


@pytest.mark.sweep
def test_run_in_a_read_only_folder_needs_another_workspace(
    samples: Path, other_user: tuple[Path, Callable[..., Done]]
) -> None:
    home, run = other_user
    place = make_read_only(shutil.copytree(samples / "acebench", home / "runs"))
    done = run("import", place)
    assert done.code == 1
    assert "--workspace" in done.err
    (home / "mine").mkdir()
    (home / "mine").chmod(0o777)
    assert run("import", place, "--workspace", home / "mine").code == 0
    assert (
        run(
            "label", place, ITEM, "--run", "1", "--verdict", "pass", "--workspace", home / "mine"
        ).code
        == 0
    )
