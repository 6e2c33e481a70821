"""MCP-Atlas results have the coverage, claims, calls and figures of the official scorer."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.mcp_atlas.claims import parse_claims
from fcreview.importers.mcp_atlas.leaderboard import compute_metrics
from fcreview.importers.registry import discover, read_items, rewrite_scores
from fcreview.model.address import RESPONSE
from fcreview.model.item import ImportIssue, Item, MissingItem
from fcreview.model.metric import Metric
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import COVERAGE, find_scale
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from tests.examples import only_long
from tests.importers.mutations import (
    Mutation,
    Reading,
    choose_mutations,
    describe_item,
    find_silent_losses,
    list_mutations,
)
from tests.importers.run_reading import find_only_plan, read_run, score_item

Row = dict[str, Any]
JSON_COLUMNS = ("raw_conversation_history", "coverage_details_json", "TRAJECTORY", "ENABLED_TOOLS")
MUTATED_FIELDS = (
    "role",
    "content",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "tool_call_id",
    "per_claim",
    "claim",
    "score",
    "covered",
    "reason",
    *JSON_COLUMNS,
)
VALID_VALUES = (("arguments", "object"),)
"""Kinds of values that these fields may have."""


@pytest.fixture
def folder(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / "mcp_atlas", tmp_path / "run"))


def find_plan(folder: Path) -> RunPlan:
    return find_only_plan(folder, "mcp_atlas")


def read_tasks(plan: RunPlan) -> tuple[dict[str, Item], list[ImportIssue]]:
    items, issues = read_run(plan)
    return {item.id: item for item in items}, issues


def list_claims(item: Item) -> list[Any]:
    return [verdict for verdict in item.verdicts if verdict.criterion.startswith("claim ")]


def get_metrics(metrics: Sequence[Metric], table: str) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in metrics if metric.table == table}


def edit_rows(path: Path, edit: Callable[[list[Row]], None]) -> None:
    with path.open(newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    columns = list(rows[0])
    edit(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# -- published results


@pytest.mark.bench
def test_published_run_has_the_recorded_claims_calls_and_verdicts(bench: Path) -> None:
    truth = json.loads((bench / "mcp_atlas" / "truth.json").read_text())
    items, _ = read_tasks(find_plan(bench / "mcp_atlas"))
    assert set(items) == {entry["task"] for entry in truth["items"] if entry["in_scored_file"]}
    for entry in truth["items"]:
        item = items.get(entry["task"])
        if item is None:
            continue
        coverage = [v.value for v in item.verdicts if v.criterion == COVERAGE]
        assert coverage == ([] if entry["coverage_score"] is None else [entry["coverage_score"]])
        assert item.official == entry["pass(>=0.75)"]
        assert [[call.name, call.raw] for call in item.predicted] == entry["predicted_calls"]
        assert [[call.name, call.raw] for call in item.golden] == entry["golden_calls"]
        assert item.incident == entry["infrastructure_error"]

        claims = list_claims(item)
        assert sum(claim.failure is not None for claim in claims) == entry["judge_errors"]
        for claim, (score, _, reason) in zip(claims, entry["claims"], strict=True):
            if claim.failure is not None:
                assert (claim.value, claim.failure) == (None, reason)
            else:
                assert float(claim.value) == score
                assert claim.rationale.startswith(reason)


@pytest.mark.bench
def test_published_figures_are_recomputed_for_each_split(bench: Path) -> None:
    truth = json.loads((bench / "mcp_atlas" / "truth.json").read_text())
    plan = find_plan(bench / "mcp_atlas")
    items, _ = read_tasks(plan)
    metrics = compute_metrics([score_item(item) for item in items.values()], plan.run)
    for split, expected in truth["official"].items():
        figures = get_metrics(metrics, f"coverage, {split} tasks")
        assert len(figures) == 7
        for name, value in figures.items():
            assert value == pytest.approx(expected[name], abs=0.005), (split, name)
    assert plan.run.official_metrics["all"]["mean_coverage"] == 0.375


@pytest.mark.bench
def test_figures_without_failed_requests_and_judges_stand_beside_the_official_ones(
    bench: Path,
) -> None:
    plan = find_plan(bench / "mcp_atlas")
    items, _ = read_tasks(plan)
    metrics = compute_metrics([score_item(item) for item in items.values()], plan.run)
    figures = get_metrics(metrics, "coverage without failed requests and judges")
    # t-0001 1, t-0002 0.25, t-0006 1 (of the claim that was judged), t-0008 0.5
    assert figures == {"mean coverage": pytest.approx(0.6875), "pass rate": 0.5}


@pytest.mark.bench
def test_task_that_the_scorer_dropped_is_not_run(bench: Path) -> None:
    records = read_items(find_plan(bench / "mcp_atlas"))
    missing = [record.id for record in records if isinstance(record, MissingItem)]
    assert missing == ["t-0005"]


@pytest.mark.bench
def test_outputs_are_imported_only_without_their_scored_file(bench: Path) -> None:
    folder = bench / "mcp_atlas"
    plan = find_plan(folder)
    assert Path(plan.run.path).name == "scored_mock-model.csv"
    (unscored,) = discover([folder / "outputs.csv", folder / "groundtruth.csv"]).plans
    items, _ = read_tasks(unscored)
    assert len(items) == 7
    assert {item.official for item in items.values()} == {None}
    assert [call.name for call in items["t-0001"].golden] == ["library_search_books"]


# -- claims


@pytest.mark.parametrize(
    ("cell", "claims"),
    [
        ('["The sky is blue.", "It rains."]', ["The sky is blue.", "It rains."]),
        ("['It\\'s late.', \"Say 'hi'.\"]", ["It's late.", "Say 'hi'."]),
        ("- first claim\n- second claim", ["first claim", "second claim"]),
        ("1. first claim\n2. second claim", ["first claim", "second claim"]),
        ("first claim; second claim", ["first claim", "second claim"]),
        ("first claim\nsecond claim", ["first claim", "second claim"]),
        ("['one', 'a']", []),
        ("[]", []),
        ("[open('x')]", ["[open('x')]"]),
        ("", []),
    ],
)
def test_claims_are_read_in_every_form(cell: str, claims: list[str]) -> None:
    assert parse_claims(cell) == claims


def test_claims_pass_fail_or_are_partly_fulfilled(folder: Path) -> None:
    items, _ = read_tasks(find_plan(folder))
    assert [claim.value for claim in list_claims(items["g-01"])] == [True, True, True]
    assert [claim.value for claim in list_claims(items["g-02"])] == [0.5, False]
    assert list_claims(items["g-01"])[0].by == "oak-20b"
    scale = find_scale("claim 2", [True])
    assert scale is not None
    assert scale.parse_typed_answer("pass") is True
    assert scale.parse_typed_answer("0.5") == 0.5


def test_claims_of_a_failed_request_were_not_judged(folder: Path) -> None:
    items, _ = read_tasks(find_plan(folder))
    failed = items["g-04"]
    assert (failed.incident, failed.official) == ("timeout", False)
    assert [(claim.source, claim.value) for claim in list_claims(failed)] == [("official", False)]


def test_failure_mode_of_the_diagnosis_file_is_the_error_type(folder: Path) -> None:
    items, _ = read_tasks(find_plan(folder))
    (diagnosis,) = [v for v in items["g-02"].verdicts if v.criterion == "failure_mode"]
    assert (diagnosis.value, items["g-02"].error_type) == (["err_recovery"], "err_recovery")
    (undiagnosed,) = [v for v in items["g-04"].verdicts if v.criterion == "failure_mode"]
    assert undiagnosed.failure == "Task failed due to infrastructure error: timeout"


def test_coverage_that_is_not_the_mean_of_the_claims_is_reported(folder: Path) -> None:
    edit_rows(
        folder / "scored" / "scored_maple-8b.csv", lambda rows: rows[0].update(coverage_score="0.9")
    )
    _, issues = read_tasks(find_plan(folder))
    assert [issue.what for issue in issues] == [
        "coverage_score is 0.9, but the claims have the mean 1.000"
    ]
    assert issues[0].line == 2


@pytest.mark.parametrize("text", ["much", "nan", "inf", "-1", "2"])
def test_coverage_that_is_no_share_gives_an_issue_and_no_verdict(folder: Path, text: str) -> None:
    edit_rows(
        folder / "scored" / "scored_maple-8b.csv", lambda rows: rows[0].update(coverage_score=text)
    )
    items, issues = read_tasks(find_plan(folder))
    assert items["g-01"].official is None
    assert any(issue.line == 2 and "coverage_score" in issue.what for issue in issues)


def test_trajectories_of_older_files_are_read(folder: Path) -> None:
    path = folder / "old.csv"
    trajectory = [
        {"name": "garden_list_plants", "parameters": {"bed": "all"}, "output_summary": "3 beds"},
        {"name": "notes_read_note", "parameters": {}, "error_message": "no such note"},
        {"final_answer": "Three."},
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["TASK", "PROMPT", "agent_trajectory", "script_model_response", "errors"])
        errors = json.dumps(["max_tool_calls_reached"])
        writer.writerow(["o-1", "How many beds?", json.dumps(trajectory), "Three.", errors])
    (plan,) = discover([path]).plans
    items, issues = read_tasks(plan)
    item = items["o-1"]
    assert issues == []
    assert [(call.name, call.arguments) for call in item.predicted] == [
        ("garden_list_plants", {"bed": "all"}),
        ("notes_read_note", {}),
    ]
    shown = [(message.role, message.content) for message in item.messages]
    assert shown == [
        ("user", "How many beds?"),
        ("tool", "3 beds"),
        ("tool", "[error] no such note"),
        ("assistant", "Three."),
    ]
    assert item.ended == "max_tool_calls_reached"


def write_trajectory(path: Path, trajectory: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["TASK", "PROMPT", "agent_trajectory", "script_model_response"])
        writer.writerow(["o-1", "How many beds?", json.dumps(trajectory), "Three."])


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        ({"status": "success", "output_summary": "3 beds"}, "3 beds"),
        ({"status": "error", "error_message": "no bed"}, "[error] no bed"),
        ({"status": "ERROR", "output_summary": "no bed"}, "[error] no bed"),
        ({"status": "failed", "error_message": "no", "output_summary": "1"}, "[error] no\n1"),
    ],
)
def test_failed_call_of_an_older_file_has_the_mark_of_an_error(
    tmp_path: Path, outcome: Row, result: str
) -> None:
    call = {"name": "garden_list_plants", "parameters": {}}
    write_trajectory(tmp_path / "old.csv", [{**call, **outcome}])
    items, issues = read_tasks(find_plan(tmp_path))
    tool_messages = [each.content for each in items["o-1"].messages if each.role == "tool"]
    assert (tool_messages, issues) == ([result], [])


def test_unknown_status_of_a_call_is_reported(tmp_path: Path) -> None:
    call = {"name": "garden_list_plants", "parameters": {}, "status": "skipped"}
    write_trajectory(tmp_path / "old.csv", [call])
    _, issues = read_tasks(find_plan(tmp_path))
    assert [issue.what for issue in issues] == ["agent_trajectory[0].status is not known: skipped"]


@pytest.mark.parametrize("reason", ["EVALUATION FAILED: 429", " evaluation failed : timeout"])
def test_failure_of_the_judge_is_no_verdict_in_any_case(folder: Path, reason: str) -> None:
    def fail_first_claim(rows: list[Row]) -> None:
        details = json.loads(rows[0]["coverage_details_json"])
        details["per_claim"][0]["reason"] = reason
        rows[0]["coverage_details_json"] = json.dumps(details)

    edit_rows(folder / "scored" / "scored_maple-8b.csv", fail_first_claim)
    items, _ = read_tasks(find_plan(folder))
    judged = [claim.value for claim in list_claims(items["g-01"]) if claim.source == "judge"]
    assert judged[0] is None


# -- outputs beside scored files


OUTPUT_COLUMNS = ("task_id", "raw_conversation_history", "response")
SCORE_COLUMNS = ("coverage_score", "coverage_details_json")


def write_outputs(path: Path, rows: list[tuple[str, str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(OUTPUT_COLUMNS)
        writer.writerows(rows)


def write_scored(path: Path, rows: list[tuple[str, str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*OUTPUT_COLUMNS, *SCORE_COLUMNS])
        for row in rows:
            writer.writerow([*row, "0.0", "{}"])


def make_conversation(reply: str) -> str:
    return json.dumps([{"role": "assistant", "content": reply}])


def test_outputs_of_another_model_are_a_run_although_both_have_a_failed_request(
    tmp_path: Path,
) -> None:
    failed = ("t-1", "", "ERROR: 429")
    write_scored(tmp_path / "scored_m1.csv", [failed, ("t-2", make_conversation("yes"), "yes")])
    others = [failed, ("t-2", make_conversation("no"), "no")]
    write_outputs(tmp_path / "mcp_eval_m2_2tasks_x.csv", others)
    found = discover([tmp_path])
    assert sorted(plan.run.model for plan in found.plans) == ["m1", "m2"]


def test_outputs_without_a_conversation_are_never_taken_for_a_copy(tmp_path: Path) -> None:
    failed = ("t-1", "[]", "ERROR: 429")
    write_scored(tmp_path / "scored_m1.csv", [failed])
    write_outputs(tmp_path / "mcp_eval_m2_1tasks_x.csv", [failed])
    assert len(discover([tmp_path]).plans) == 2


def test_only_outputs_that_were_not_scored_are_a_run(tmp_path: Path) -> None:
    rows = [
        ("t-1", make_conversation("a"), "a"),
        ("t-2", make_conversation("b"), "b"),
        ("t-3", "", "ERROR: 429"),
    ]
    write_scored(tmp_path / "scored_m1.csv", rows[::2])
    write_outputs(tmp_path / "mcp_eval_m1_3tasks_x.csv", rows)
    found = discover([tmp_path])
    ids = [[item.id for item in read_run(plan)[0]] for plan in found.plans]
    # Failed requests of two models have equal texts, so they are never taken for copies.
    assert ids == [["t-1", "t-3"], ["t-2", "t-3"]]
    (notice,) = found.issues
    assert notice.what == "1 of 3 records are left out because scored_m1.csv has scored copies"


def test_scored_outputs_are_left_out_with_a_notice(tmp_path: Path) -> None:
    rows = [("t-1", make_conversation("a"), "a"), ("t-2", "", "ERROR: 429")]
    write_scored(tmp_path / "scored_m1.csv", rows)
    write_outputs(tmp_path / "outputs.csv", rows[::-1])
    found = discover([tmp_path])
    assert [plan.run.model for plan in found.plans] == ["m1"]
    (notice,) = found.issues
    assert (Path(notice.file).name, notice.severity) == ("outputs.csv", "notice")
    assert notice.what == "left out because scored_m1.csv has a scored copy of its 2 records"


# -- reviews


def test_reviewed_claims_decide_the_coverage_and_the_item(folder: Path) -> None:
    plan = find_plan(folder)
    items, _ = read_tasks(plan)
    item = score_item(items["g-03"], overrides={(RESPONSE, "claim 2"): True})
    assert item.derive_verdict("mcp_atlas", "item", COVERAGE) == 1.0
    assert item.derive_verdict("mcp_atlas", *ITEM_CORRECT) is True
    metrics = compute_metrics([item], plan.run)
    assert get_metrics(metrics, "coverage, all tasks")["mean_coverage"] == 1.0


def test_reviewed_claims_are_written_and_all_else_is_kept(folder: Path) -> None:
    plan = find_plan(folder)
    items, _ = read_tasks(plan)
    reviewed = [score_item(item) for item in items.values()]
    reviewed[1] = score_item(items["g-02"], overrides={(RESPONSE, "claim 2"): 0.5})
    reviewed[0] = score_item(items["g-01"], overrides={ITEM_CORRECT: False})
    written = list(rewrite_scores(plan, reviewed))
    (file,) = [each for each in written if isinstance(each, RewrittenFile)]
    assert [each.count for each in written if isinstance(each, Unrepresentable)] == [1]

    old = file.path.read_bytes()
    rows = list(csv.DictReader(old.decode().splitlines(keepends=True)))
    new_rows = list(csv.DictReader(file.content.decode().splitlines(keepends=True)))
    changed = {name: new_rows[1][name] for name in rows[1] if rows[1][name] != new_rows[1][name]}
    details = json.loads(changed.pop("coverage_details_json"))
    assert [claim["covered"] for claim in details["per_claim"]] == ["partial", "partial"]
    assert changed == {"coverage_score": "0.5", "partially_covered_claims": "2"}
    assert [row for number, row in enumerate(rows) if number != 1] == [
        row for number, row in enumerate(new_rows) if number != 1
    ]
    lines = old.splitlines(keepends=True)
    assert b"".join(lines[:2]) in file.content and lines[-1] in file.content


# -- files that a spreadsheet saved


def save_again(path: Path, delimiter: str, *, decimal: str = ".", start: str = "") -> None:
    """Write a file as a spreadsheet does: another delimiter, CRLF, other order of columns."""
    with path.open(newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    for row in rows:
        row["coverage_score"] = row["coverage_score"].replace(".", decimal)
    columns = list(reversed(rows[0]))
    with path.open("w", newline="") as file:
        file.write(start)
        writer = csv.DictWriter(file, columns, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(("delimiter", "decimal"), [(";", ","), ("\t", "."), (",", ".")])
def test_file_that_a_spreadsheet_saved_has_the_same_items(
    folder: Path, delimiter: str, decimal: str
) -> None:
    path = folder / "scored" / "scored_maple-8b.csv"
    before, _ = read_tasks(find_plan(folder))
    save_again(path, delimiter, decimal=decimal, start="\ufeff")
    after, issues = read_tasks(find_plan(folder))
    assert issues == []
    assert list(map(describe_item, after.values())) == list(map(describe_item, before.values()))
    assert [item.official for item in after.values()] == [i.official for i in before.values()]


def test_reviewed_claims_keep_the_form_of_the_spreadsheet(folder: Path) -> None:
    path = folder / "scored" / "scored_maple-8b.csv"
    save_again(path, ";", decimal=",")
    plan = find_plan(folder)
    items, _ = read_tasks(plan)
    reviewed = score_item(items["g-02"], overrides={(RESPONSE, "claim 2"): 0.5})
    (file,) = rewrite_scores(plan, [reviewed])
    assert isinstance(file, RewrittenFile)
    path.write_bytes(file.content)
    again, issues = read_tasks(find_plan(folder))
    assert issues == []
    assert [v.value for v in again["g-02"].verdicts if v.criterion == COVERAGE] == [0.5]
    assert b";0,5;" in file.content


def test_table_of_another_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "rollouts.csv").write_text("reward;response\n1;{}\n")
    found = discover([tmp_path])
    assert found.plans == []
    what = "rollouts.csv is a table with columns that fcreview does not know. Describe it"
    assert what in found.issues[-1].what


# -- damage


def test_unterminated_quote_is_reported_with_its_line(folder: Path) -> None:
    path = folder / "scored" / "scored_maple-8b.csv"
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"Skipped")])
    items, issues = read_tasks(find_plan(folder))
    assert set(items) == {"g-01", "g-02", "g-03"}
    assert any("not CSV" in issue.what and issue.line for issue in issues)


def test_record_with_too_few_cells_is_reported(folder: Path) -> None:
    path = folder / "scored" / "scored_maple-8b.csv"
    with path.open("a") as file:
        file.write("g-09,What?\n")
    items, issues = read_tasks(find_plan(folder))
    assert "g-09" in items
    assert any("2 cells instead of 17" in issue.what for issue in issues)


def read_mutated(path: Path, rows: Sequence[Row]) -> Reading:
    cells = [
        {name: json.dumps(row[name]) if name in JSON_COLUMNS else row[name] for name in row}
        for row in rows
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(cells)
    items, issues = read_tasks(find_plan(path))
    return Reading([describe_item(item) for item in items.values()], issues)


def is_loss(mutation: Mutation) -> bool:
    """Whether a mutation gives something that the format does not allow."""
    if mutation.kind not in ("remove", "rename"):
        return True
    is_column = len(mutation.path) == 1  # cannot be renamed in one record alone
    # A message with calls needs no content.
    is_optional = mutation.kind == "remove" and mutation.path[-1] == "content"
    return not is_column and not is_optional


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=(pytest.mark.sweep, only_long))])
def test_no_mutation_of_a_field_loses_anything_in_silence(folder: Path, count: int) -> None:
    path = folder / "scored" / "scored_maple-8b.csv"
    with path.open(newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    for row in rows:
        row |= {name: json.loads(row[name]) for name in JSON_COLUMNS}
    mutations = choose_mutations(list_mutations(rows, MUTATED_FIELDS, VALID_VALUES), count)
    mutations = [mutation for mutation in mutations if is_loss(mutation)]
    assert find_silent_losses(rows, mutations, lambda new: read_mutated(path, new)) == []
