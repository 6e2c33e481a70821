"""A workspace has the permissions of its parent folder, so a group can share it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.model.review import Annotation, ItemKey
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviews.journal import Journal
from fcreview.store.workspace import AnnotatorState, find_workspace
from tests.store.factory import read, write_run

KEY = ItemKey("bfcl", "V4", "en", "maple-8b", "simple", "simple_0")


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def read_mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize(
    ("folder", "folders", "files", "lock"),
    [(0o700, 0o700, 0o600, 0o600), (0o2770, 0o2770, 0o640, 0o660), (0o755, 0o755, 0o644, 0o644)],
    ids=["private", "of a group", "open to read"],
)
def test_workspace_has_the_permissions_of_its_folder(
    tmp_path: Path, umask: None, folder: int, folders: int, files: int, lock: int
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    plan = write_run(place / "run", [{}])
    place.chmod(folder)
    workspace = find_workspace(place)
    import_runs(workspace, [plan], read)
    journal = Journal(workspace, "alice")
    journal.append(KEY, Annotation(verdict=True))
    with journal.path.open("ab") as file:
        file.write(b"torn")
    journal.append(KEY, Annotation(verdict=False))
    AnnotatorState(workspace.root, "alice").write("filters", {"hard": "stale"})
    assert {
        read_mode(path) for path in [workspace.root, *workspace.root.rglob("*")] if path.is_dir()
    } == {folders}
    assert read_mode(workspace.store) == files
    assert read_mode(journal.path) == files
    assert read_mode(workspace.lock) == lock
    assert not [path for path in workspace.root.rglob("*.json") if read_mode(path) != files]


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that other users can reach.

    It is not below `tmp_path`: each start of pytest makes the folder of all its runs private.
    """
    with tempfile.TemporaryDirectory(prefix="fcreview-test-") as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "shared"
        place.mkdir()
        yield place


@pytest.mark.skipif(os.getuid() != 0, reason="becomes two other people, which only root can")
def test_group_members_import_and_review_in_one_folder(shared_folder: Path) -> None:
    place = shared_folder
    plan = write_run(place / "run", [{}])
    os.chown(place, 0, 5000)
    place.chmod(0o2775)
    for user, name in ((5001, "alice"), (5002, "bob")):
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([5000])
                os.setgid(5000)
                os.setuid(user)
                os.umask(0o077)
                workspace = find_workspace(place)
                import_runs(workspace, [plan], read, n_workers=1)
                Journal(workspace, name).append(KEY, Annotation(verdict=True))
                os._exit(0)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        (place / "run" / "results.jsonl").touch()
    assert {path.name for path in (place / ".fcreview" / "reviews").iterdir()} == {
        "alice.jsonl",
        "bob.jsonl",
    }
