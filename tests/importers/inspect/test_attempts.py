"""Several logs of a task: what is imported, what is skipped, and why.

Logs are recognized by their content.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from fcreview.run_plan import RunPlan
from fcreview.safe_files import import_zipfile
from tests.importers.inspect.test_damage import make_log, pack

CASES = Path(__file__).parents[2] / "cases" / "inspect"


def write(path: Path, log: dict[str, Any], **changes: Any) -> None:
    log = copy.deepcopy(log)
    log["eval"] |= changes
    path.write_bytes(pack(log) if path.suffix == ".eval" else json.dumps(log).encode())


def write_start_record(path: Path, log: dict[str, Any], **changes: Any) -> None:
    """Write the log of a run that has just started."""
    start = {"version": 2, "eval": log["eval"] | changes}
    with import_zipfile().ZipFile(path, "w", 8) as archive:
        archive.writestr("_journal/start.json", json.dumps(start))


def find_names(folder: Path) -> list[str]:
    return [Path(plan.run.path).name for plan in discover([folder]).plans]


def read_ids(plan: RunPlan) -> list[str]:
    return [item.id for item in read_items(plan) if isinstance(item, Item)]


def get_notice(folder: Path) -> str:
    (issue,) = [issue for plan in discover([folder]).plans for issue in plan.issues]
    return issue.what


def test_models_with_one_task_id_are_several_runs(tmp_path: Path) -> None:
    write(tmp_path / "a.eval", make_log(), model="oak")
    write(tmp_path / "b.eval", make_log(), model="elm")
    assert {plan.run.model for plan in discover([tmp_path]).plans} == {"oak", "elm"}


def test_rescored_copy_and_original_are_two_runs() -> None:
    plans = discover([CASES / "61-rescored"]).plans
    assert len(plans) == 3
    assert not [issue for plan in plans for issue in plan.issues]
    verdicts = [
        [item.official for item in read_items(plan) if isinstance(item, Item)] for plan in plans
    ]
    # the copy for another model has the scores of the original
    assert len({str(each) for each in verdicts}) == 2


def test_finished_log_beats_a_newer_one_with_a_start_record_only(tmp_path: Path) -> None:
    write(tmp_path / "old.eval", make_log(), created="2026-09-01")
    write_start_record(tmp_path / "new.eval", make_log(), created="2026-09-02")
    assert find_names(tmp_path) == ["old.eval"]
    assert "new.eval (not finished, 0 samples)" in get_notice(tmp_path)


@pytest.mark.parametrize("status", ["cancelled", "error"])
def test_more_samples_beat_a_newer_unfinished_log(tmp_path: Path, status: str) -> None:
    log = make_log() | {"status": status}
    write(tmp_path / "old.eval", log, created="2026-09-01", eval_id="1")
    log["samples"] = log["samples"][:1]
    write(tmp_path / "new.eval", log, created="2026-09-02", eval_id="2")
    assert find_names(tmp_path) == ["old.eval"]
    assert "new.eval (1 of 3 samples)" in get_notice(tmp_path)


def test_later_start_decides_between_equal_attempts(tmp_path: Path) -> None:
    write(tmp_path / "b.eval", make_log(), created="2026-09-01", eval_id="1")
    write(tmp_path / "a.eval", make_log(), created="2026-09-02", eval_id="2")
    assert find_names(tmp_path) == ["a.eval"]
    assert "b.eval (started earlier)" in get_notice(tmp_path)


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_edited_copy_replaces_the_original(tmp_path: Path, suffix: str) -> None:
    log = make_log()
    write(tmp_path / f"a.{suffix}", log, eval_id="1")
    edit = {"value": "C", "provenance": {"author": "kim"}}
    log["samples"][1]["scores"]["match"] |= {"value": "C", "history": [{"value": "I"}, edit]}
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 1.0
    write(tmp_path / f"b.{suffix}", log, eval_id="1")
    assert find_names(tmp_path) == [f"b.{suffix}"]
    assert f"a.{suffix} (a copy of b.{suffix}" in get_notice(tmp_path)


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_copy_with_a_further_scorer_is_a_run_of_its_own(tmp_path: Path, suffix: str) -> None:
    log = make_log()
    write(tmp_path / f"a.{suffix}", log, eval_id="1")
    for sample in log["samples"]:
        sample["scores"]["other"] = {"value": "C", "history": []}
    log["results"]["scores"].append({"name": "other", "scorer": "other", "metrics": {}})
    write(tmp_path / f"b.{suffix}", log, eval_id="1")
    assert sorted(find_names(tmp_path)) == [f"a.{suffix}", f"b.{suffix}"]


@pytest.mark.parametrize("name", ["run.zip", "my_run", "log.bin"])
@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_log_is_recognized_whatever_its_name(tmp_path: Path, name: str, suffix: str) -> None:
    write(tmp_path / f"log.{suffix}", make_log())
    (tmp_path / f"log.{suffix}").rename(tmp_path / name)
    (plan,) = discover([tmp_path]).plans
    assert plan.importer == "inspect" and read_ids(plan) == ["s0", "s1", "s2"]


def test_archive_with_other_files_is_no_log(tmp_path: Path) -> None:
    with import_zipfile().ZipFile(tmp_path / "logs.zip", "w", 8) as archive:
        archive.writestr("logs/a.eval", "x")
    assert not discover([tmp_path]).plans


def unpack(path: Path, folder: Path) -> None:
    with import_zipfile().ZipFile(path) as archive:
        archive.extractall(folder)


def test_unpacked_log_opens_and_does_not_hide_the_archive(tmp_path: Path) -> None:
    write(tmp_path / "log.eval", make_log())
    unpack(tmp_path / "log.eval", tmp_path / "unpacked")
    (plan,) = discover([tmp_path]).plans
    assert plan.run.path == str(tmp_path / "log.eval") and read_ids(plan) == ["s0", "s1", "s2"]
    (tmp_path / "log.eval").unlink()
    found = discover([tmp_path])
    (plan,) = found.plans
    assert plan.run.path == str(tmp_path / "unpacked") and not found.issues
    assert read_ids(plan) == ["s0", "s1", "s2"]
    assert {Path(item.file).parent.name for item in read_items(plan) if isinstance(item, Item)} == {
        "samples"
    }


def test_changed_sample_of_an_unpacked_log_is_a_changed_file_of_the_run(tmp_path: Path) -> None:
    write(tmp_path / "log.eval", make_log())
    unpack(tmp_path / "log.eval", tmp_path / "unpacked")
    (tmp_path / "log.eval").unlink()
    (plan,) = discover([tmp_path]).plans
    assert {path.name for path in plan.files} == {
        *(f"{n}_epoch_1.json" for n in range(3)),
        "header.json",
    }


def test_unpacked_log_without_header_is_incomplete(tmp_path: Path) -> None:
    write(tmp_path / "log.eval", make_log())
    unpack(tmp_path / "log.eval", tmp_path / "unpacked")
    (tmp_path / "log.eval").unlink()
    (tmp_path / "unpacked" / "header.json").unlink()
    (plan,) = discover([tmp_path]).plans
    found = list(read_items(plan))
    assert sum(isinstance(each, Item) for each in found) == 3
    assert any("incomplete" in each.what for each in found if not isinstance(each, Item))


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_items_have_the_order_of_the_dataset_and_of_epochs(tmp_path: Path, suffix: str) -> None:
    log = make_log()
    names = ["b/1", "a", 3]
    samples = [
        log["samples"][0] | {"id": name, "epoch": epoch}
        for epoch in (2, 1)
        for name in (3, "a", "b/1")
    ]
    log["samples"] = samples
    log["eval"] |= {"dataset": {"sample_ids": names}, "config": {"epochs": 2}}
    path = tmp_path / f"log.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps(log, indent=1))
    else:
        header = {name: value for name, value in log.items() if name != "samples"}
        with import_zipfile().ZipFile(path, "w", 8) as archive:
            for sample in samples:
                archive.writestr(
                    f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample)
                )
            archive.writestr("header.json", json.dumps(header))
    (plan,) = discover([path]).plans
    items = [item for item in read_items(plan) if isinstance(item, Item)]
    assert [item.id for item in items] == ["b/1", "b/1#2", "a", "a#2", "3", "3#2"]
    if suffix == "json":
        raw = path.read_bytes()
        records = [json.loads(raw[item.offset : item.offset + item.length]) for item in items]
        assert [record["id"] for record in records] == ["b/1", "b/1", "a", "a", 3, 3]


def test_large_samples_of_a_json_log_have_the_order_of_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcreview.importers.inspect.log.MAX_WHOLE_BYTES", 10)
    log = make_log()
    log["eval"] |= {"dataset": {"sample_ids": ["s2", "s0", "s1"]}}
    write(tmp_path / "log.json", log)
    (plan,) = discover([tmp_path]).plans
    assert read_ids(plan) == ["s2", "s0", "s1"]


def test_item_ids_do_not_depend_on_the_order_in_the_file() -> None:
    (plan,) = discover([CASES / "05-id-hash"]).plans
    assert sorted(read_ids(plan)) == [
        '"task"#2',
        "task",
        "task#2",
        "task#2#2",
        "task#3",
        "task#3#2",
    ]


def test_names_of_runs_contain_task_and_arguments() -> None:
    plans = discover([CASES / "02-task-variants"]).plans
    parts = {(plan.run.model, plan.run.name_parts[0], plan.run.name_parts[1]) for plan in plans}
    variants = ["naive", "strict", "hardened"]
    models = ["mockllm/alpha", "mockllm/beta"]
    assert parts == {
        (m, f"support_desk_{variant}", f"variant={variant}") for m in models for variant in variants
    }


def test_names_of_runs_contain_the_status_of_unfinished_logs(tmp_path: Path) -> None:
    write(tmp_path / "a.eval", make_log(), task_id="1")
    write(tmp_path / "b.eval", make_log() | {"status": "cancelled"}, task_id="2")
    write_start_record(tmp_path / "c.eval", make_log(), task_id="3")
    parts = {Path(plan.run.path).stem: plan.run.name_parts for plan in discover([tmp_path]).plans}
    assert parts == {
        "a": ["quiz", "2026-09-01", "a"],
        "b": ["quiz", "cancelled", "2026-09-01", "b"],
        "c": ["quiz", "started", "2026-09-01", "c"],
    }


def test_keys_in_arguments_are_not_part_of_names(tmp_path: Path) -> None:
    write(tmp_path / "a.eval", make_log(), model_args={"api_key": "sk-abcdefghijklmnopqrstuvwx01"})
    (plan,) = discover([tmp_path]).plans
    assert "abcdefghij" not in str(plan.run.name_parts)
