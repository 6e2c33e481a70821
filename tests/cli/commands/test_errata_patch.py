"""`fcreview errata patch` writes pull requests that apply to checkouts of the benchmarks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.json_lines import list_line_problems
from tests.commands import Done

Cli = Callable[..., Done]
Json = dict[str, Any]
BFCL_DATA = "berkeley-function-call-leaderboard/bfcl_eval/data"
BFCL_ITEM = "live_simple_3-3-0"
BFCL_FIX = {"ground_truth": [{"timer.start": {"minutes": [30], "name": ["bread", ""]}}]}
NO_PYTHON = "/dev/null"


def run_git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        env=environment,
        check=True,
    )
    return done.stdout.decode()


def commit_all(folder: Path) -> str:
    run_git(folder, "init", "-q")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "-m", "dataset")
    return run_git(folder, "rev-parse", "HEAD").strip()


def apply_patch(patch: Path, checkout: Path) -> dict[str, tuple[bytes, bytes]]:
    """Apply the patch, and return path -> content before and after, of the changed files."""
    run_git(checkout, "apply", "--check", str(patch))
    run_git(checkout, "apply", str(patch))
    changed = {}
    for path in run_git(checkout, "diff", "--name-only").splitlines():
        before = run_git(checkout, "show", f"HEAD:{path}").encode()
        changed[path] = (before, (checkout / path).read_bytes())
    run_git(checkout, "checkout", "-q", ".")
    return changed


def list_changed_lines(before: bytes, after: bytes) -> list[tuple[bytes, bytes]]:
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new)
    return [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]


@dataclass
class Place:
    """Runs of a benchmark, and a checkout with its dataset."""

    cli: Cli
    runs: Path
    checkout: Path
    folder: Path
    upstream: str

    def fix(self, item: str, fix: Json, *more: str) -> None:
        words = ["label", self.runs, item, "--golden-fix", json.dumps(fix), *more]
        done = self.cli(*words)
        assert done.code == 0, done.err

    def patch(self, *more: str | Path, out: str = "out", **changes: str) -> Done:
        words = ["errata", "patch", self.runs, "--upstream", self.upstream]
        return self.cli(*words, "-o", self.folder / out, *more, **changes)

    def read(self, name: str, out: str = "out") -> str:
        return (self.folder / out / name).read_text("utf-8")


def copy_categories(source: Path, target: Path) -> None:
    """Copy a few categories, because importing all takes long."""
    for path in source.rglob("*.json"):
        if re.search(r"(live_simple|multi_turn_base)(_result|_score)?\.json|func_doc/", str(path)):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


@pytest.fixture
def bfcl(cli: Cli, samples: Path, tmp_path: Path) -> Place:
    """The BFCL sample runs, whose dataset is in a checkout. One golden answer is corrected."""
    checkout = tmp_path / "gorilla"
    copy_categories(samples / "bfcl" / "data", checkout / BFCL_DATA)
    for folder in ("result", "score"):
        copy_categories(
            samples / "bfcl" / folder / "maple-8b", tmp_path / "runs" / folder / "maple-8b"
        )
    commit_all(checkout)
    done = cli("import", tmp_path / "runs", "--data", checkout / BFCL_DATA)
    assert done.code == 0, done.err
    place = Place(cli, tmp_path / "runs", checkout, tmp_path, "bfcl")
    place.fix(BFCL_ITEM, BFCL_FIX, "--note", "# <b>so asked</b>\n```", "--fault", "golden")
    return place


def test_bfcl_patch_changes_one_line_of_the_checkout(bfcl: Place) -> None:
    (facts,) = bfcl.patch("--json").objects
    assert not list_line_problems("errata patch", facts)
    path = f"{BFCL_DATA}/possible_answer/BFCL_v4_live_simple.json"
    assert facts["goldens"] == [BFCL_ITEM]
    assert (facts["files"], facts["refused"]) == ([path], [])
    changed = apply_patch(bfcl.folder / "out" / "golden.patch", bfcl.checkout)
    assert list(changed) == [path]
    ((old, new),) = list_changed_lines(*changed[path])
    assert json.loads(new) == json.loads(old) | BFCL_FIX


def test_bfcl_texts_have_what_the_maintainers_ask_for(bfcl: Place) -> None:
    assert bfcl.patch().code == 0
    commit = run_git(bfcl.checkout, "rev-parse", "HEAD").strip()
    lines = (bfcl.checkout / BFCL_DATA / "possible_answer/BFCL_v4_live_simple.json").read_text()
    number = 1 + next(
        index for index, line in enumerate(lines.splitlines()) if f'"{BFCL_ITEM}"' in line
    )
    text = bfcl.read("pull_request.md")
    assert bfcl.read("title.txt") == f"[BFCL] Fix ground truth for `{BFCL_ITEM}`\n"
    assert (
        f"1. Datapoint permalink: https://github.com/ShishirPatil/gorilla/blob/{commit}/"
        f"{BFCL_DATA}/possible_answer/BFCL_v4_live_simple.json#L{number}\n"
    ) in text
    assert f"Gorilla repo commit #: {commit}" in text
    assert '"previous_datapoint": [' in text and '"updated_datapoint": [' in text
    assert re.search(
        r"- \[[A-Z][a-z]{2} \d{1,2}, \d{4}\] \[#NUMBER\]\(\S+/pull/NUMBER\): Fix ground truth for"
        rf" `{BFCL_ITEM}`\.",
        text,
    )
    evidence = text.partition("## Evidence")[2]
    assert "- 0 of 1 answer passes with the current golden answer\n- 1 more run would" in evidence
    assert "- Decision: by one annotator, `tester`" in evidence
    assert "would pass with the corrected golden answer: `maple-8b`" in evidence
    assert "````\n# <b>so asked</b>\n```\n````" in text  # The note is inside a longer fence.


def test_golden_patch_export_writes_the_same_patch(bfcl: Place) -> None:
    assert bfcl.patch().code == 0
    exported = bfcl.folder / "exported"
    done = bfcl.cli("export", bfcl.runs, "--format", "golden-patch", "-o", exported)
    assert f"Apply it in {bfcl.checkout} with" in done.err
    assert (exported / "golden.patch").read_bytes() == bfcl.read("golden.patch").encode()


def test_dataset_outside_a_checkout_needs_a_commit(bfcl: Place) -> None:
    shutil.rmtree(bfcl.checkout / ".git")
    done = bfcl.patch()
    assert done.code == 1 and "Pass --checkout DIR" in done.err
    assert bfcl.patch("--commit", "not hex").code == 1
    assert bfcl.patch("--commit", "6EA5797").code == 0
    assert "/blob/6ea5797/" in bfcl.read("pull_request.md")
    commit_all(bfcl.checkout)
    assert apply_patch(bfcl.folder / "out" / "golden.patch", bfcl.checkout)


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("possible_answer/", '"minutes": [', '"minutes": [31, ', "differs from the reviewed one"),
        ("possible_answer/", f'"{BFCL_ITEM}"', '"live_simple_x"', "has no such record"),
        ("", '"content": "', '"content": "Please. ', "the question in the repository differs"),
    ],
)
def test_correction_of_another_dataset_is_refused(
    bfcl: Place, file: str, old: str, new: str, reason: str
) -> None:
    """The checkout has newer files than the imported dataset."""
    data = bfcl.folder / "old-data"
    shutil.copytree(bfcl.checkout / BFCL_DATA, data)
    assert bfcl.cli("import", bfcl.runs, "--data", data).code == 0
    path = bfcl.checkout / BFCL_DATA / f"{file}BFCL_v4_live_simple.json"
    lines = [
        line.replace(old, new, 1) if f'"{BFCL_ITEM}"' in line else line
        for line in path.read_text().splitlines(keepends=True)
    ]
    path.write_text("".join(lines))
    run_git(bfcl.checkout, "commit", "-q", "-a", "-m", "newer")
    done = bfcl.patch("--checkout", bfcl.checkout)
    assert done.code == 1 and reason in done.err, done.err
    assert not (bfcl.folder / "out").exists()


def test_uncommitted_changes_of_the_checkout_are_ignored(bfcl: Place) -> None:
    answers = bfcl.checkout / BFCL_DATA / "possible_answer" / "BFCL_v4_live_simple.json"
    committed = answers.read_bytes()
    answers.write_bytes(b"\n" + committed)
    assert bfcl.patch("--checkout", bfcl.checkout).code == 0
    answers.write_bytes(committed)
    assert len(apply_patch(bfcl.folder / "out" / "golden.patch", bfcl.checkout)) == 1


def test_multi_turn_answer_is_refused_if_it_cannot_be_executed(bfcl: Place) -> None:
    path = bfcl.checkout / BFCL_DATA / "possible_answer" / "BFCL_v4_multi_turn_base.json"
    record = json.loads(path.read_text().splitlines()[0])
    turns = record["ground_truth"]
    bfcl.fix(record["id"], {"ground_truth": [[*turns[0], turns[0][0]], *turns[1:]]})
    done = bfcl.patch(FCREVIEW_BFCL_PYTHON=NO_PYTHON)
    assert f"not in the patch: {record['id']}: " in done.err
    assert done.code == 0 and "1 golden answer in 1 file" in done.err


def test_wrong_names_and_folders_are_refused(bfcl: Place, tmp_path: Path) -> None:
    bfcl.upstream = "gorilla"
    done = bfcl.patch()
    assert done.code == 2 and "Choose bfcl, tau2, acebench" in done.err
    bfcl.upstream = "acebench"
    assert "no resolved golden fix of acebench" in bfcl.patch().err
    bfcl.upstream = "bfcl"
    (tmp_path / "plain").mkdir()
    done = bfcl.patch("--checkout", tmp_path / "plain")
    assert done.code == 1 and "is no git checkout" in done.err
    done = bfcl.patch("--commit", "0123456789abcdef")
    assert done.code == 1 and "with this commit" in done.err


@pytest.fixture
def acebench(cli: Cli, samples: Path, tmp_path: Path) -> Place:
    checkout = tmp_path / "ACEBench"
    shutil.copytree(samples / "acebench" / "data_all", checkout / "data_all")
    for folder in ("result_all", "score_all"):
        shutil.copytree(samples / "acebench" / folder, tmp_path / "runs" / folder)
    commit_all(checkout)
    done = cli("import", tmp_path / "runs", "--data", checkout / "data_all")
    assert done.code == 0, done.err
    return Place(cli, tmp_path / "runs", checkout, tmp_path, "acebench")


def find_answer(checkout: Path, pattern: str) -> tuple[Path, Json]:
    """Return the first file with golden answers that matches, and its first record."""
    path = sorted(checkout.rglob(f"possible_answer/{pattern}"))[0]
    return path, json.loads(path.read_text("utf-8").splitlines()[0])


def test_acebench_patch_changes_one_line_and_refuses_agent_items(acebench: Place) -> None:
    path, record = find_answer(acebench.checkout, "data_normal_*.json")
    ((name, arguments),) = list(record["ground_truth"].items())[:1]
    language = path.parents[1].name.removeprefix("data_")
    run = next(
        row["run"]
        for row in acebench.cli("runs", acebench.runs, "--json").objects
        if row["language"] == language
    )
    fix = {"ground_truth": record["ground_truth"] | {name: {**arguments}}}
    first = next(iter(arguments))
    fix["ground_truth"][name][first] = [arguments[first], "é"]
    acebench.fix(record["id"], fix, "--run", str(run), "--note", "both")
    agent_path, agent = find_answer(acebench.checkout, "data_agent_*.json")
    assert agent_path.parents[1] == path.parents[1]
    acebench.fix(agent["id"], {"mile_stone": ["[pwd()]"]}, "--run", str(run))

    done = acebench.patch()
    assert done.code == 0, done.err
    assert f"not in the patch: {agent['id']}: the golden answers of agent categories" in done.err
    changed = apply_patch(acebench.folder / "out" / "golden.patch", acebench.checkout)
    (changed_path,) = changed
    assert acebench.checkout / changed_path == path
    ((_, new),) = list_changed_lines(*changed[changed_path])
    assert json.loads(new) == record | fix
    assert f"/blob/{commit_of(acebench)}/{changed_path}#L1" in acebench.read("pull_request.md")


def commit_of(place: Place) -> str:
    return run_git(place.checkout, "rev-parse", "HEAD").strip()


@pytest.fixture
def tau2(cli: Cli, samples: Path, tmp_path: Path) -> Place:
    """The tau2 sample run, and a checkout with its tasks as tau2-bench writes them."""
    runs = tmp_path / "runs"
    runs.mkdir()
    shutil.copy(samples / "tau" / "library_maple-8b.json", runs)
    results = json.loads((runs / "library_maple-8b.json").read_text("utf-8"))
    domain = tmp_path / "tau2-bench" / "data" / "tau2" / "domains" / "library"
    domain.mkdir(parents=True)
    for task in results["tasks"]:
        for action in task["evaluation_criteria"].get("actions") or []:
            action.pop("requestor", None)
            action.pop("compare_args", None)
    text = json.dumps(results["tasks"], indent=4) + "\n"
    (domain / "tasks.json").write_text(text)
    (domain / "tasks_voice.json").write_text(text)
    results["tasks"][0]["evaluation_criteria"]["communicate_info"] = ["other"]
    (domain / "tasks_small.json").write_text(json.dumps(results["tasks"], indent=2))
    commit_all(tmp_path / "tau2-bench")
    assert cli("import", runs).code == 0
    return Place(cli, runs, tmp_path / "tau2-bench", tmp_path, "tau2")


def read_task(place: Place, index: int = 0) -> Json:
    tasks = json.loads((place.checkout / "data/tau2/domains/library/tasks.json").read_text("utf-8"))
    task: Json = tasks[index]
    return task


def test_tau2_patch_corrects_the_task_in_all_files_that_repeat_it(tau2: Place) -> None:
    task = read_task(tau2)
    fix = {"communicate_info": ["42 euros"]}
    tau2.fix(f"{task['id']}_trial_0", fix, "--note", "the fee")
    tau2.fix(f"{task['id']}_trial_1", fix, "--annotator", "bob")
    done = tau2.patch("--checkout", tau2.checkout)
    assert done.code == 0, done.err
    changed = apply_patch(tau2.folder / "out" / "golden.patch", tau2.checkout)
    assert list(changed) == [
        "data/tau2/domains/library/tasks.json",
        "data/tau2/domains/library/tasks_voice.json",
    ]
    for before, after in changed.values():
        tasks = json.loads(before)
        tasks[0]["evaluation_criteria"] |= fix
        assert after.decode() == json.dumps(tasks, indent=4) + "\n"

    assert tau2.read("branch.txt") == f"domain/library/fix-task-{task['id']}\n"
    title = f"fix: correct the evaluation criteria of library task {task['id']}\n"
    assert tau2.read("title.txt") == title
    instruction = task["user_scenario"]["instructions"]
    reason = instruction if isinstance(instruction, str) else instruction["reason_for_call"]
    assert reason in tau2.read("pull_request.md")
    assert "###STOP###" not in tau2.read("pull_request.md")
    for name in ("issue.md", "pull_request.md"):
        text = tau2.read(name)
        assert re.search(
            rf"/blob/{commit_of(tau2)}/data/tau2/domains/library/tasks.json#L\d+-L\d+", text
        )
        assert "Decision: all annotators agree: `bob`, `tester`" in text
    for section in ("## Summary", "## Changes Made", "## Testing", "## Documentation"):
        assert section in tau2.read("pull_request.md")


def test_tau2_actions_that_change_the_state_are_refused(tau2: Place) -> None:
    task = read_task(tau2)
    actions = task["evaluation_criteria"]["actions"]
    assert "DB" in task["evaluation_criteria"]["reward_basis"]
    tau2.fix(f"{task['id']}_trial_0", {"actions": actions[:-1]})
    done = tau2.patch("--checkout", tau2.checkout)
    assert done.code == 1 and "executes the golden actions" in done.err
    assert "Pass --checkout DIR" in tau2.patch().err


def test_tau2_actions_outside_the_state_keep_the_form_of_the_file(tau2: Place) -> None:
    """With the reward basis ACTION, tau2-bench only compares calls."""
    task = read_task(tau2)
    actions = task["evaluation_criteria"]["actions"]
    new_action = {"name": actions[0]["name"], "arguments": {"x": 1}}
    fix = {"actions": [*actions, new_action], "reward_basis": ["ACTION"]}
    tau2.fix(f"{task['id']}_trial_0", fix)
    done = tau2.patch("--checkout", tau2.checkout)
    assert done.code == 0, done.err
    changed = apply_patch(tau2.folder / "out" / "golden.patch", tau2.checkout)
    before, after = changed["data/tau2/domains/library/tasks.json"]
    tasks = json.loads(before)
    (*kept, added) = json.loads(after)[0]["evaluation_criteria"]["actions"]
    assert kept == actions
    assert list(added) == list(actions[0])
    tasks[0]["evaluation_criteria"] |= {"actions": [*actions, added], "reward_basis": ["ACTION"]}
    assert after.decode() == json.dumps(tasks, indent=4) + "\n"
