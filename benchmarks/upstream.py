"""Write a pull request for each benchmark on trees that are made of published files, and apply its
patch with `git apply`.

Prints the changed lines, and leaves the patches and texts in FOLDER, to be read. The multi-turn
answer of BFCL is executed with `bfcl-eval` if it is installed (docs/errata.md), else left out.

Usage: python -m benchmarks.upstream BENCH FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BFCL_DATA = "berkeley-function-call-leaderboard/bfcl_eval/data"
BFCL_MODEL = "gpt-4o-mini-2024-07-18-FC"
MULTI_TURN_ID = "multi_turn_base_0"
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """Runs of a benchmark, the repository of its dataset, and the corrections to send."""

    name: str
    runs: Path
    repository: Path
    dataset: Path | None
    fixes: dict[str, JsonObject]
    """Item id -> corrected fields of the golden answer."""


def run_fcreview(*words: str | Path, place: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FCREVIEW_ANNOTATOR": "reviewer", "HOME": str(place)}
    return subprocess.run(
        [sys.executable, "-m", "fcreview.cli", *map(str, words)],
        env=environment,
        cwd=place,
        text=True,
        capture_output=True,
    )


def run_git(folder: Path, *words: str | Path) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def read_records(path: Path) -> dict[str, JsonObject]:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {record["id"]: record for record in records}


def make_bfcl(bench: Path, folder: Path) -> Case:
    """A single-turn answer gets one more accepted value, and a multi-turn answer one more call."""
    source = bench / "bfcl_v4"
    data = folder / "gorilla" / BFCL_DATA
    shutil.copytree(source / "data", data)
    for kind in ("result", "score"):
        shutil.copytree(source / kind / BFCL_MODEL, folder / "runs" / kind / BFCL_MODEL)

    answers = read_records(data / "possible_answer" / "BFCL_v4_simple_python.json")
    item_id, record = next(iter(answers.items()))
    (call,) = record["ground_truth"]
    name, arguments = next(iter(call.items()))
    argument, accepted = next(iter(arguments.items()))
    single = {"ground_truth": [{name: arguments | {argument: [*accepted, float(accepted[0])]}}]}

    answers = read_records(data / "possible_answer" / "BFCL_v4_multi_turn_base.json")
    turns = answers[MULTI_TURN_ID]["ground_truth"]
    multi = {"ground_truth": [*turns[:-1], [*turns[-1], "pwd()"]]}
    fixes = {item_id: single, MULTI_TURN_ID: multi}
    return Case("bfcl", folder / "runs", folder / "gorilla", data, fixes)


def make_acebench(bench: Path, folder: Path) -> Case:
    source = bench / "acebench"
    data = folder / "ACEBench" / "data_all"
    shutil.copytree(source / "data_all" / "data_en", data / "data_en")
    for kind in ("result", "score"):
        for path in (source / f"{kind}_all").glob("*_en"):
            shutil.copytree(path, folder / "runs" / f"{kind}_all" / path.name)
    answers = read_records(data / "data_en" / "possible_answer" / "data_normal_atom_bool.json")
    item_id, record = next(iter(answers.items()))
    other = json.loads(json.dumps(record["ground_truth"]))
    arguments = next(iter(other.values()))
    arguments["cuisine_preference"] = "East Asian"
    fixes = {item_id: {"ground_truth": [record["ground_truth"], other]}}
    return Case("acebench", folder / "runs", folder / "ACEBench", data, fixes)


def make_tau2(bench: Path, folder: Path) -> Case:
    """The repository has the tasks that the results contain."""
    source = bench / "tau2" / "airline_gemini2_5_flash_10tasks_2t.json"
    (folder / "runs").mkdir(parents=True)
    shutil.copy(source, folder / "runs")
    results = json.loads(source.read_text("utf-8"))
    domain = folder / "tau2-bench" / "data" / "tau2" / "domains" / "airline"
    domain.mkdir(parents=True)
    text = json.dumps(results["tasks"], indent=4, ensure_ascii=False) + "\n"
    (domain / "tasks.json").write_text(text, "utf-8")
    task = results["tasks"][0]
    simulation = next(
        each for each in results["simulations"] if str(each["task_id"]) == str(task["id"])
    )
    item_id = f"{task['id']}_trial_{simulation['trial']}"
    fixes = {item_id: {"communicate_info": ["no refund"]}}
    return Case("tau2", folder / "runs", folder / "tau2-bench", None, fixes)


def send(case: Case, folder: Path) -> None:
    """Import the runs, accept the corrections, and write and apply the patch."""
    run_git(case.repository, "init", "-q")
    run_git(case.repository, "add", "-A")
    run_git(case.repository, "commit", "-q", "-m", "dataset")
    data = ["--data", case.dataset] if case.dataset is not None else []
    done = run_fcreview("import", case.runs, *data, place=folder)
    if done.returncode:
        raise SystemExit(done.stderr)
    for item_id, fix in case.fixes.items():
        words = ["label", case.runs, item_id, "--golden-fix", json.dumps(fix), "--accept"]
        done = run_fcreview(*words, "--reason", "The documents say so.", place=folder)
        if done.returncode:
            raise SystemExit(f"{case.name}, {item_id}: {done.stderr}")

    out = folder / "out"
    words = ["errata", "patch", case.runs, "--upstream", case.name, "-o", out]
    done = run_fcreview(*words, "--checkout", case.repository, place=folder)
    print(f"{case.name}: {done.stderr.strip()}")
    if done.returncode:
        return
    patch = (out / "golden.patch").resolve()
    run_git(case.repository, "apply", "--check", patch)
    run_git(case.repository, "apply", patch)
    print(run_git(case.repository, "diff", "--stat"))


MAKERS: tuple[Callable[[Path, Path], Case], ...] = (make_bfcl, make_acebench, make_tau2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    for make in MAKERS:
        folder = arguments.folder.resolve() / make.__name__.removeprefix("make_")
        send(make(arguments.bench.resolve(), folder), folder)


if __name__ == "__main__":
    main()
