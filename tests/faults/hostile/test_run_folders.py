"""Run folders with devices, pipes or links in place of files, and with hostile names: every command
ends in time and reports the problem, and no file outside the run changes.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fcreview.importers.common.discovery import is_utf8_name
from tests.commands import Done, environment, run_in_this_process
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import times

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ["acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench", "tau"]
SECONDS = 60.0
"""Time limit for one command on a sample run, which takes less than one second."""
HOSTILE_NAMES = [
    b"a\nb",
    b"a\x1b[2Jb",
    b"a\xe2\x80\xaeb",
    b"\xff\xfe",
    b"..\\..\\x",
    b"a'; DROP TABLE items; --",
    b"%2e%2e%2fx",
    b"e" + b"\xcc\x81" * 100,
    b"-rf",
    b"$(touch x)",
    b"a\rb",
    b"\xc2\x9b31m",
    b"*",
    b" ",
    b"[x]",
    b"CON",
]
RAW = "\x1b\x07\x9b\u202e\r"


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    (place / "inner").mkdir(parents=True)


def link_to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def link_to_nothing(place: Path) -> None:
    place.symlink_to("nowhere/at/all")


def link_to_a_device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def link_to_its_folder(place: Path) -> None:
    place.symlink_to("..")


def link_to_a_pipe(place: Path) -> None:
    os.mkfifo(place.with_name(f".{place.name}.pipe"))
    place.symlink_to(f".{place.name}.pipe")


def nothing(_: Path) -> None:
    pass


def unreadable_process_memory(place: Path) -> None:
    """A regular file that cannot be read from its start."""
    place.symlink_to("/proc/self/mem")


KINDS = [
    pipe,
    folder,
    link_to_itself,
    link_to_nothing,
    link_to_a_device,
    link_to_its_folder,
    link_to_a_pipe,
    nothing,
    unreadable_process_memory,
]


ONCE_FAILED = [
    ("Flights-0.log", (pipe, True)),
    ("helpdesk.jsonl", (link_to_itself, False)),
    ("BFCL_v4_live_multiple_score.json", (link_to_a_device, False)),
    ("ST_Perfect.json", (link_to_a_device, True)),
]


def read_files(place: Path) -> dict[str, bytes | None]:
    """Return the content of each file by path, without the workspace."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in place.rglob("*")
        if ".fcreview" not in path.parts
    }


def run_commands(
    place: Path, item: str | None, cwd: Path, environ: dict[str, str]
) -> list[tuple[str, Done]]:
    commands: list[list[str | Path]] = [
        ["import", place],
        ["runs", place],
        ["doctor", place],
        ["report", place],
    ]
    if item is not None:
        commands += [["show", place, item, "--full", "--run", "1"], ["triage", place]]
        commands += [["export", place, "--format", "native", "-o", cwd / "out"]]
    done = []
    for words in commands:
        shutil.rmtree(cwd / "out", ignore_errors=True)
        with time_limit(SECONDS):
            done.append((str(words[0]), run_in_this_process(words, cwd, environ)))
    return done


def check(done: Sequence[tuple[str, Done]]) -> None:
    for command, each in done:
        assert each.code in (0, 1), (command, each.code, each.err)
        assert "Traceback" not in each.err
        assert "internal error" not in each.err, (command, each.err)
        assert each.out or each.err, command
        assert not [char for char in RAW if char in each.out + each.err], (
            command,
            each.out,
            each.err,
        )


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, str]]:
    """A function that returns the imported sample run of a benchmark and the id of an item."""
    made: dict[str, tuple[Path, str]] = {}

    def of(benchmark: str) -> tuple[Path, str]:
        if benchmark not in made:
            place = tmp_path_factory.mktemp("known") / "runs"
            shutil.copytree(ROOT / "sample_runs" / benchmark, place)
            items = run_in_this_process(
                ["items", place, "--json"], place, environment(place)
            ).objects
            made[benchmark] = place, items[0]["id"]
        return made[benchmark]

    return of


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_odd_file_is_reported_and_the_rest_is_imported(
    tmp_path: Path,
    environ: dict[str, str],
    known: Callable[[str], tuple[Path, str]],
    benchmark: str,
) -> None:
    """Replace each file of a run in turn, before and after the first import."""
    source, item = known(benchmark)
    files = [
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and path.name != "README.md"
    ]
    files = [path for path in files if ".fcreview" not in path.parts]
    every = [(file, kind, new) for file in files for kind in KINDS for new in (True, False)]
    hung = [each for each in every if (each[0].name, each[1:]) in ONCE_FAILED]
    for file, kind, new in [*hung, *random.sample(every, min(times(1, 40), len(every)))]:
        place = tmp_path / "outer" / "runs"
        shutil.rmtree(place.parent, ignore_errors=True)
        shutil.copytree(source, place, ignore=shutil.ignore_patterns(".fcreview") if new else None)
        (place / file).unlink()
        kind(place / file)
        before = read_files(tmp_path / "outer")
        print(benchmark, file, kind.__name__, "new" if new else "known", flush=True)
        done = run_commands(place, item, tmp_path, environ)
        check(done)
        assert read_files(tmp_path / "outer") == before


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_hostile_file_names_are_harmless(
    tmp_path: Path, environ: dict[str, str], name: bytes
) -> None:
    """Hostile names of the model folder, of the folder above the run, and of other files."""
    if times(0, 1) == 0 and name not in (b"\xff\xfe", b"a\nb", b"a\x1b[2Jb"):
        pytest.skip("in the long form")
    text = os.fsdecode(name)
    outer = tmp_path / text
    outer.mkdir()
    for benchmark, model in [
        ("bfcl", "result/maple-8b-FC"),
        ("acebench", "result_all/result_en/maple-8b"),
        ("confetti", "result/maple-8b"),
        ("complexfuncbench", "result/maple-8b"),
    ][: times(1, 4)]:
        place = outer / benchmark
        shutil.copytree(ROOT / "sample_runs" / benchmark, place)
        (place / model).rename((place / model).with_name(text))
        (place / f"{text}.json").write_text("{}")
        (place / f"{text}.jsonl").write_text('{"id": "a", "messages": [], "golden": []}\n')
        before = read_files(outer)
        items = run_in_this_process(["items", place, "--json"], tmp_path, environ)
        check([("items", items)])
        check(run_commands(place, items.objects[0]["id"] if items.out else None, tmp_path, environ))
        if is_utf8_name(text):
            assert items.objects or "\\" in text  # DuckDB reads a backslash as a path separator
        else:
            assert "UTF-8" in items.err
            (outer / benchmark).rename(tmp_path / benchmark)
            done = run_in_this_process(
                ["import", tmp_path / benchmark, "--json"], tmp_path, environ
            )
            assert "UTF-8" in done.out + done.err
            shutil.rmtree(tmp_path / benchmark)
            continue
        assert read_files(outer) == before
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        sorted([text, "home"]),
        sorted([text, "home", "out"]),
    )


@pytest.mark.fuzz
@pytest.mark.sweep
def test_names_in_the_data_do_not_become_paths(tmp_path: Path, environ: dict[str, str]) -> None:
    """If a model, benchmark or item is named like a path, no file is written outside the
    expected folders.
    """
    outer = tmp_path / "outer"
    place = outer / "inner" / "runs"
    place.mkdir(parents=True)
    name = "../../../escaped"
    header = (
        f'{{"fcreview": 1, "benchmark": "{name}", "generation": "{name}", "model": "{name}",'
        f' "language": "/etc"}}\n'
    )
    (place / "run.jsonl").write_text(
        header + f'{{"id": "{name}", "category": "{name}", "messages": [], "golden": []}}\n' * 2
    )
    done = [
        (words[0], run_in_this_process([words[0], place, *words[1:]], tmp_path, environ))
        for words in (
            ["import"],
            ["items"],
            ["show", name],
            ["label", name, "--verdict", "pass"],
            ["report"],
            ["queue", "create", "--name", name],
            ["export", "-o", str(tmp_path / "labels.jsonl")],
            ["export", "--format", "native", "-o", str(tmp_path / "native")],
            ["export", "--format", "golden-patch", "-o", str(tmp_path / "patch")],
            ["label", name, "--verdict", "pass", "--annotator", name],
            ["import-labels", str(tmp_path / "labels.jsonl")],
        )
    ]
    assert {code for _, each in done for code in [each.code]} <= {0, 1, 2}
    assert not [
        each.err for _, each in done if "Traceback" in each.err or "internal error" in each.err
    ]
    assert not [path for path in tmp_path.rglob("*escaped*") if path.parent != tmp_path / "native"]
    assert not list(tmp_path.parent.glob("*escaped*"))


def test_loops_of_links_end(tmp_path: Path, environ: dict[str, str], samples: Path) -> None:
    """Each folder links to all others, so there are endless paths."""
    place = tmp_path / "runs"
    shutil.copytree(samples / "acebench", place)
    folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
    for number, each in enumerate(folders):
        for other, target in enumerate(folders):
            (each / f"z{other}").symlink_to(target)
        (each / "root").symlink_to("/" if number == 1 else place)
    shutil.rmtree(place / "result_all" / "root", ignore_errors=True)
    for each in folders:
        (each / "root").unlink()
    with time_limit(SECONDS):
        done = run_in_this_process(["import", place, "--json"], tmp_path, environ)
    assert done.code == 0
    usual = run_in_this_process(
        ["import", samples / "acebench", "--workspace", tmp_path, "--json"], tmp_path, environ
    )
    assert sum(row.get("items", 0) for row in done.objects) == sum(
        row.get("items", 0) for row in usual.objects
    )


def test_number_of_files_and_folders_is_limited(
    tmp_path: Path, environ: dict[str, str], samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are lowered in the short form. The long form has a million files."""
    from fcreview.importers.common import discovery

    place = tmp_path / "runs"
    shutil.copytree(samples / "acebench", place / "a_run")
    if not times(0, 1):
        monkeypatch.setattr(discovery, "MAX_FILES", 300)
        monkeypatch.setattr(discovery, "MAX_FOLDERS", 300)
    files, folders = times(600, 1_000_000), times(600, 250_000)
    for number in range(files):
        where = place / "files" / str(number // 50_000)
        if number % 50_000 == 0:
            where.mkdir(parents=True)
        os.close(os.open(where / f"{number}.json", os.O_CREAT | os.O_WRONLY))
    with time_limit(240):
        done = run_in_this_process(["import", place, "--json"], tmp_path, environ)
    assert done.code == 0
    assert [row for row in done.objects if "The others were skipped" in row.get("what", "")]
    assert [row for row in done.objects if row["kind"] == "run"]
    shutil.rmtree(place / "files")
    for number in range(folders):
        (place / "folders" / str(number // 1000) / str(number)).mkdir(parents=True)
    with time_limit(240):
        done = run_in_this_process(["import", place, "--json"], tmp_path, environ)
    assert done.code == 0
    assert [row for row in done.objects if "The others were skipped" in row.get("what", "")]
