"""Files of any form are read as a mapping file says, and nothing that it names is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.importers.mapping.check import MappingReport, check_mapping_file
from fcreview.importers.registry import discover
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import DiscoveredRuns, SearchOptions
from tests.importers.run_reading import read_runs

HEADER = '[map]\nversion = 1\nbenchmark = "desk"\n'
CALL = {"id": "c", "type": "function", "function": {"name": "book", "arguments": '{"people": 2}'}}
DIALOG = [
    {"role": "user", "content": "Book a table."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
]


def write_mapping(folder: Path, text: str, rows: Sequence[Any] = ()) -> Path:
    """Write a mapping file, and rows as `rows.jsonl` beside it."""
    if rows:
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    path = folder / "fcreview-map.toml"
    path.write_text(f'{HEADER}\n[[source]]\nfiles = "rows.jsonl"\n\n{text}')
    return path


def read(found: DiscoveredRuns) -> tuple[list[Item], list[ImportIssue]]:
    items, issues = read_runs(found.plans)
    return items, found.issues + issues


def read_folder(folder: Path) -> tuple[list[Item], list[ImportIssue]]:
    return read(discover([folder]))


# -- the published examples


def check_against_truth(bench: Path, name: str) -> tuple[MappingReport, dict[str, Any]]:
    truth = json.loads((bench / "mapping/truth.json").read_text())[name]
    report = check_mapping_file(bench / "mapping" / name)
    assert report.counts.n_items == truth["items"]
    assert report.verdicts == {name.lower(): count for name, count in truth["verdicts"].items()}
    for key, wanted in truth["keys"].items():
        if key not in report.counts.keys:  # a key with a mistake in its expression
            assert key == "item.messages" and name == "broken.toml"
            continue
        count = report.counts.keys[key]
        assert count.n_found == wanted.get("found", 0), key
        assert count.n_missing == wanted.get("missing", 0), key
        assert count.others.get("not a verdict", 0) == wanted.get("not a verdict", 0), key
    n_errors = len(report.problems) + len(report.errors)
    assert n_errors == len(truth["errors"])
    return report, truth


@pytest.mark.parametrize(
    "name",
    [
        "livemcpbench.toml",
        "mcp_atlas.toml",
        "runs.toml",
        "inhouse.toml",
        "inhouse_parquet.toml",
        "broken.toml",
    ],
)
def test_published_examples_have_published_counts(bench: Path, name: str) -> None:
    check_against_truth(bench, name)


@pytest.mark.parametrize(
    "name", ["livemcpbench.toml", "mcp_atlas.toml", "runs.toml", "inhouse.toml"]
)
def test_published_rows_are_read(bench: Path, name: str) -> None:
    truth = json.loads((bench / "mapping/truth.json").read_text())[name]
    found = discover([bench / "mapping" / name])
    items, _ = read(found)
    assert len(items) == len(truth["rows"])
    verdicts = {True: "pass", False: "fail", None: None}
    for item, row in zip(items, truth["rows"], strict=True):
        trial = row["trial"]
        wanted_id = row["id"] if trial is None else f"{row['id']}_trial_{trial}"
        assert item.id.partition("#")[0] == wanted_id
        assert verdicts[item.official] == row["verdict"]
        judges = [[v.by, verdicts[v.value]] for v in item.verdicts if v.source == "judge"]
        assert judges == row["judge"]
        people = [[r.author, verdicts[r.verdict]] for r in item.extra.recorded_reviews]
        assert people == row["human"]
        assert (item.incident_text or None) == row["error"]
    assert {plan.run.model for plan in found.plans} == {row["model"] for row in truth["rows"]}


def test_errors_of_published_examples_have_their_places(bench: Path) -> None:
    report = check_mapping_file(bench / "mapping/inhouse.toml")
    places = [(Path(issue.file).name, issue.line) for issue in report.errors]
    assert places == [("inhouse.jsonl", 4), ("inhouse.jsonl", 6)]
    broken = check_mapping_file(bench / "mapping/broken.toml")
    assert broken.problems == [
        "unknown table [verdict]",
        "item.messages: `dialog[` is not a JMESPath expression (column 8)",
    ]
    warnings = [issue.what for issue in broken.issues if "missing in all" in issue.what]
    assert warnings == ["item.trial is missing in all items. Did you mean attempt?"]


def test_livemcpbench_opens_without_a_mapping_file(bench: Path) -> None:
    """Each judge's verdict is its status, also where the published reward says the opposite."""
    truth = json.loads((bench / "livemcpbench/truth.json").read_text())["items"]
    items, issues = read(discover([bench / "livemcpbench"]))
    contradictions = 0
    for item, row in zip(items, truth, strict=True):
        assert (item.id, item.category) == (row["task_id"], row["category"])
        judges = {v.by: v for v in item.verdicts if v.criterion == "correct"}
        scores = {v.by: v.value for v in item.verdicts if v.criterion == "score"}
        assert judges.keys() == row["judges"].keys()
        for name, judge in row["judges"].items():
            assert judges[name].value is (judge["status"] == "success")
            assert scores[name] == judge["official_reward"]
            assert str(judges[name].rationale).startswith(judge["reason_start"][:40])
            contradictions += (judge["status"] == "success") != judge["official_reward"]
        (person,) = item.extra.recorded_reviews
        assert person.verdict is (row["human"] == "success")
        assert [call.name for call in item.predicted] == [name for name, _ in row["calls"]]
    assert sum("but its score is" in issue.what for issue in issues) == contradictions


# -- the form


def test_default_file_beside_the_data_is_used(tmp_path: Path) -> None:
    row = {"id": 1, "dialog": DIALOG, "ok": True}
    write_mapping(tmp_path, '[item]\nid = "id"\nmessages = "dialog"\nverdict = "ok"\n', [row])
    for opened in (tmp_path, tmp_path / "rows.jsonl"):
        (item,), issues = read_folder(opened)
        assert (item.id, item.official, item.predicted[0].name) == ("1", True, "book")
        assert issues == []


@pytest.mark.parametrize(
    "name",
    [
        "fcreview-map (conflicted copy).toml",
        "fcreview-map.sync-conflict-20261128-101010-ABC.toml",
    ],
)
def test_copy_of_a_mapping_that_another_machine_changed_is_named(tmp_path: Path, name: str) -> None:
    path = write_mapping(tmp_path, '[item]\nid = "id"\n', [{"id": 1}, {"id": 2}])
    (tmp_path / name).write_bytes(path.read_bytes())
    items, issues = read_folder(tmp_path)
    assert len(items) == 2
    (issue,) = [issue for issue in issues if issue.file == str(tmp_path / name)]
    assert "a copy of fcreview-map.toml that another machine changed" in issue.what


def test_items_of_several_models_are_several_runs(tmp_path: Path) -> None:
    rows = [{"id": n, "bot": bot, "ok": True} for bot in ("a", "b") for n in range(2)]
    write_mapping(tmp_path, '[item]\nid = "id"\nmodel = "bot"\nverdict = "ok"\n', [*rows, "{"])
    found = discover([tmp_path])
    assert [plan.run.model for plan in found.plans] == ["a", "b"]
    items, issues = read(found)
    assert [item.id for item in items] == ["0", "1", "0", "1"]
    assert len([issue for issue in issues if issue.severity == "error"]) == 1


def test_golden_calls_give_a_recomputed_verdict(tmp_path: Path) -> None:
    rows = [
        {"id": n, "dialog": DIALOG, "want": [{"fn": "book", "args": {"people": n}}]} for n in (2, 3)
    ]
    rows.append({"id": 4, "dialog": DIALOG, "want": []})
    rows.append({"id": 5, "dialog": DIALOG})
    golden = '{ path = "want", kind = "calls", call_name = "fn", call_arguments = "args" }'
    write_mapping(tmp_path, f'[item]\nid = "id"\nmessages = "dialog"\ngolden = {golden}\n', rows)
    items, _ = read_folder(tmp_path)
    assert [(item.rule, item.rule_error_type) for item in items] == [
        (True, None),
        (False, "wrong_value"),
        (False, "extra_call"),
        (None, None),
    ]


def test_malformed_golden_call_gives_no_verdict(tmp_path: Path) -> None:
    rows = [{"id": 1, "dialog": DIALOG, "want": [{"args": {}}]}]
    golden = '{ path = "want", kind = "calls" }'
    write_mapping(tmp_path, f'[item]\nid = "id"\nmessages = "dialog"\ngolden = {golden}\n', rows)
    (item,), issues = read_folder(tmp_path)
    assert item.rule is None
    assert [issue.what for issue in issues] == ["item.golden[0]: call without a name"]


def test_reference_conversation_is_shown_but_not_required(tmp_path: Path) -> None:
    reference = [*DIALOG, {"role": "assistant", "content": "Booked."}]
    rows = [{"id": 1, "dialog": DIALOG[:1], "gold": reference}]
    text = '[item]\nid = "id"\nmessages = "dialog"\ngolden = { path = "gold", kind = "messages" }\n'
    write_mapping(tmp_path, text, rows)
    (item,), _ = read_folder(tmp_path)
    assert [call.name for call in item.golden] == ["book"]
    assert (item.rule, item.extra.golden_reply) == (None, "Booked.")
    assert item.extra.uncounted_states == "-!+"


def test_calls_beside_the_messages_are_read(tmp_path: Path) -> None:
    rows = [
        {
            "id": 1,
            "ask": "Book.",
            "made": [{"tool": "book", "with": "{}", "turn": 0}, {"tool": "pay", "with": "[]"}],
            "said": "Done.",
        }
    ]
    text = (
        '[item]\nid = "id"\nquestion = "ask"\nresponse = "said"\n'
        'calls = { path = "made", call_name = "tool", call_arguments = "with" }\n'
    )
    write_mapping(tmp_path, text, rows)
    (item,), issues = read_folder(tmp_path)
    assert [(call.name, call.arguments) for call in item.predicted] == [("book", {}), ("pay", None)]
    assert [(m.role, m.content) for m in item.messages] == [
        ("user", "Book."),
        ("assistant", "Done."),
    ]
    assert [issue.what for issue in issues] == ["item.calls[1]: arguments of pay are not an object"]


@pytest.mark.parametrize("value", ["NaN", '"nan"', "Infinity", '"-inf"', '"1e999"'])
def test_value_that_is_not_finite_is_no_verdict_and_no_score(tmp_path: Path, value: str) -> None:
    row = f'{{"id": 1, "v": {value}}}'
    text = '[item]\nid = "id"\nscore = "v"\nverdict = { path = "v", pass_at = 0.75 }\n'
    write_mapping(tmp_path, text, [row])
    (item,), issues = read_folder(tmp_path)
    assert (item.official, item.verdicts) == (None, [])
    assert any("item.verdict is not a number" in issue.what for issue in issues)
    assert any("item.score is not a number" in issue.what for issue in issues)


def test_nan_in_parquet_is_no_verdict(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS id, 'nan'::DOUBLE AS v) TO '{file}' (FORMAT parquet)")
    mapping = tmp_path / "fcreview-map.toml"
    verdict = 'id = "id"\nverdict = { path = "v", pass_at = 0.75 }'
    mapping.write_text(f'{HEADER}\n[[source]]\nfiles = "*.parquet"\n\n[item]\n{verdict}\n')
    (item,), issues = read_folder(tmp_path)
    assert item.official is None
    assert [issue.what for issue in issues] == ["item.verdict is not a number: nan"]


def write_table(folder: Path, text: str) -> None:
    (folder / "rows.csv").write_text(text)
    source = '[[source]]\nfiles = "rows.csv"\n\n[item]\nid = "id"\nverdict = "ok"\n'
    (folder / "fcreview-map.toml").write_text(f"{HEADER}\n{source}")


def test_short_row_of_a_table_is_an_issue(tmp_path: Path) -> None:
    write_table(tmp_path, "id,ok,score\n10,true,1\n118,false,0\n11")
    items, issues = read_folder(tmp_path)
    assert [item.id for item in items] == ["10", "118", "11"]
    what = "the row has 1 cell, but the file has 3 columns"
    assert [(issue.line, issue.what) for issue in issues] == [(4, what)]


def test_columns_with_one_name_are_an_issue(tmp_path: Path) -> None:
    write_table(tmp_path, "id,ok,id\n10,true,1\n")
    (item,), issues = read_folder(tmp_path)
    assert item.id == "1"
    what = "2 columns are named id. Only the last one is read"
    assert (1, what) in [(issue.line, issue.what) for issue in issues]


OPINIONS = """
[[join]]
as = "said"
files = "said.jsonl"
on = "id"

[item]
id = "id"

[[judge]]
name = { from = "said", path = "by" }
verdict = { from = "said", path = "ok" }

[[human]]
name = { from = "said", path = "person" }
verdict = { from = "said", path = "ok" }
"""


@pytest.mark.parametrize("is_contradiction", [True, False])
def test_judge_and_person_of_two_minds_are_issues(tmp_path: Path, is_contradiction: bool) -> None:
    rows = [{"id": 1, "by": "A", "person": "P", "ok": ok} for ok in (True, not is_contradiction)]
    (tmp_path / "said.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    write_mapping(tmp_path, OPINIONS, [{"id": 1}])
    _, issues = read_folder(tmp_path)
    wanted = [
        "judge A says pass and fail for this item. Each verdict counts",
        "annotator P says pass and fail for this item",
    ]
    whats = [issue.what for issue in issues if "says pass and fail" in issue.what]
    assert whats == (wanted if is_contradiction else [])


def test_key_without_value_names_its_run(tmp_path: Path) -> None:
    rows = [{"id": 1, "m": "a"}, {"id": 2, "m": "a"}, {"id": 3}, {"id": 4}]
    write_mapping(tmp_path, '[item]\nid = "id"\nmodel = "m"\n', rows)
    _, issues = read_folder(tmp_path)
    whats = [issue.what for issue in issues if "missing" in issue.what]
    assert [what.partition(".")[2].partition(". ")[0] for what in whats] == [
        "model is missing in all items of this run"
    ]


def test_error_is_an_incident_and_keeps_the_verdict(tmp_path: Path) -> None:
    rows = [{"id": 1, "dialog": DIALOG, "ok": True, "err": "429 Too Many Requests"}]
    text = '[item]\nid = "id"\nmessages = "dialog"\nverdict = "ok"\nerror = "err"\n'
    write_mapping(tmp_path, text, rows)
    (item,), _ = read_folder(tmp_path)
    assert (item.official, item.incident, item.incident_where) == (True, "rate_limit", "err")


def test_calls_in_texts_are_read_in_a_named_style(tmp_path: Path) -> None:
    reply = '<tool_call>{"name": "book", "arguments": {"people": 2}}</tool_call>'
    dialog = [
        {"role": "user", "content": "Book."},
        {"role": "assistant", "content": reply},
        {"role": "tool", "content": "ok"},
    ]
    text = '[item]\nid = "id"\nmessages = { path = "dialog", tags = "hermes" }\n'
    write_mapping(tmp_path, text, [{"id": 1, "dialog": dialog}])
    (item,), issues = read_folder(tmp_path)
    assert [call.arguments for call in item.predicted] == [{"people": 2}]
    assert issues == []


@pytest.mark.parametrize(
    ("rule", "value", "verdict"),
    [
        ('{ path = "v", pass = ["Good"], fail = ["bad"] }', " gOOd ", True),
        ('{ path = "v", pass_at = 0.75 }', 0.75, True),
        ('{ path = "v", pass_at = 0.75 }', "0.5", False),
        ('"v"', 1, True),
        ('"v"', 0.0, False),
        ('"v"', None, None),
        ('"v"', "", None),
        ("{ path = \"v\", find = 'Status: (\\w+)' }", "Status: false. Status: true", True),
    ],
)
def test_verdict_rules(tmp_path: Path, rule: str, value: Any, verdict: bool | None) -> None:
    rows = [{"id": 1, "v": value}, {"id": 2, "v": True}]
    write_mapping(tmp_path, f'[item]\nid = "id"\nverdict = {rule}\n', rows)
    items, issues = read_folder(tmp_path)
    assert items[0].official is verdict
    assert items[0].issues == []
    assert all(issue.item != "1" for issue in issues)


@pytest.mark.parametrize("value", ["yes", [True], {"a": 1}, 2])
def test_value_that_is_no_verdict_is_an_issue(tmp_path: Path, value: Any) -> None:
    write_mapping(tmp_path, '[item]\nid = "id"\nverdict = "v"\n', [{"id": 1, "v": value}])
    (item,), _ = read_folder(tmp_path)
    (issue,) = item.issues
    assert item.official is None
    assert issue.what.startswith("item.verdict is not a verdict: ") and issue.line == 1


def test_judge_without_a_readable_verdict_has_failed(tmp_path: Path) -> None:
    rows = [{"id": 1, "j": {"who": "oak", "label": "maybe", "why": "Unclear."}}]
    text = '[item]\nid = "id"\n[[judge]]\nname = "j.who"\nverdict = "j.label"\nrationale = "j.why"'
    write_mapping(tmp_path, text, rows)
    (item,), _ = read_folder(tmp_path)
    (verdict,) = item.verdicts
    assert (verdict.value, verdict.by, verdict.rationale) == (None, "oak", "Unclear.")
    assert verdict.failure == "judge[0].verdict is not a verdict: maybe"
    assert item.flags == ["judge_failed"] and len(item.issues) == 1


def test_most_judges_decide(tmp_path: Path) -> None:
    rows = [{"id": 1, "a": True, "b": False, "c": False}, {"id": 2, "a": True, "b": False}]
    judges = "".join(
        f'[[judge]]\nname = {{ const = "{name}" }}\nverdict = "{name}"\n' for name in "abc"
    )
    write_mapping(tmp_path, f'[item]\nid = "id"\n{judges}', rows)
    items, _ = read_folder(tmp_path)
    assert [item.judge for item in items] == [False, None]
    assert [len(item.verdicts) for item in items] == [3, 2]


def test_join_rows_of_other_models_are_not_used(tmp_path: Path) -> None:
    for model, ok in (("a", True), ("b", False)):
        (tmp_path / f"out_{model}.json").write_text(json.dumps([{"id": 1}]))
        (tmp_path / f"judged_{model}.json").write_text(json.dumps([{"key": 1, "ok": ok}]))
    (tmp_path / "fcreview-map.toml").write_text(
        HEADER + "[[source]]\nfiles = 'out_*.json'\nname = 'out_(?P<model>\\w)'\n"
        "[[join]]\nas = 'judged'\nfiles = 'judged_*.json'\nname = 'judged_(?P<model>\\w)'\n"
        "on = 'key'\n[item]\nid = 'id'\nmodel = { file = 'model' }\n"
        "verdict = { from = 'judged', path = 'ok' }\n"
    )
    items, issues = read_folder(tmp_path)
    assert [item.official for item in items] == [True, False]
    assert issues == []


def test_rows_and_items_without_a_partner_are_counted(tmp_path: Path) -> None:
    (tmp_path / "judged.jsonl").write_text('{"key": "x", "ok": true}\n{"ok": true}\n')
    text = (
        "[[join]]\nas = 'judged'\nfiles = 'judged.jsonl'\non = 'key'\n[item]\nid = 'id'\n"
        "verdict = { from = 'judged', path = 'ok' }\n"
    )
    write_mapping(tmp_path, text, [{"id": 1}])
    _, issues = read_folder(tmp_path)
    assert sorted(issue.what for issue in issues) == [
        "join judged: 1 items have no row, such as 1",
        "join judged: 1 rows match no item, such as x",
        "join judged: the row has no on",
    ]


# -- forms of files


def test_csv_cells_are_texts_and_empty_cells_are_missing(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        'id,ok,note\na,true,"two\nlines"\nb,,\nc,false,x,y\n', newline=""
    )
    (tmp_path / "fcreview-map.toml").write_text(
        HEADER + "[[source]]\nfiles = 'rows.csv'\n"
        "[item]\nid = 'id'\nverdict = 'ok'\nmetadata = '@'\n"
    )
    items, issues = read_folder(tmp_path)
    assert [(item.id, item.official, item.line) for item in items] == [
        ("a", True, 2),
        ("b", None, 4),
        ("c", False, 5),
    ]
    assert items[0].extra.metadata["note"] == "two\nlines"
    raw = (tmp_path / "rows.csv").read_bytes()
    assert raw[items[1].offset :][: items[1].length] == b"b,,\n"
    assert [issue.what for issue in issues] == ["the row has 4 cells, but the file has 3 columns"]


def test_unclosed_quote_in_a_table_is_an_issue(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('id\na\n"b\n')
    (tmp_path / "fcreview-map.toml").write_text(
        HEADER + "[[source]]\nfiles = 'rows.csv'\n[item]\nid = 'id'\n"
    )
    items, issues = read_folder(tmp_path)
    assert [item.id for item in items] == ["a"]
    assert [(issue.severity, issue.line) for issue in issues] == [("error", 3)]


def test_one_item_for_each_key_and_for_each_file(tmp_path: Path) -> None:
    for name in ("x", "y"):
        document = {"model": "m", "runs": {"1": {"ok": True}, "2": {"ok": False}}}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    mapping = tmp_path / "fcreview-map.toml"
    source = HEADER + "[[source]]\nfiles = '*.json'\n"
    mapping.write_text(
        source + "items = 'runs'\nentries = true\n[item]\nid = { file = 'stem' }\n"
        "trial = { entry = true }\nmodel = { doc = 'model' }\nverdict = 'ok'\n"
    )
    found = discover([tmp_path])
    items, _ = read(found)
    assert [item.id for item in items] == ["x_trial_1", "x_trial_2", "y_trial_1", "y_trial_2"]
    assert [item.group for item in items] == ["x", "x", "y", "y"]
    assert [plan.run.model for plan in found.plans] == ["m"]
    mapping.write_text(source + "[item]\nid = { file = 'stem' }\nmetadata = '@'\n")
    items, _ = read_folder(tmp_path)
    assert [item.id for item in items] == ["x", "y"]


def test_items_that_are_no_list_are_an_issue(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"results": {"a": 1}}')
    (tmp_path / "fcreview-map.toml").write_text(
        HEADER + "[[source]]\nfiles = 'rows.json'\nitems = 'results'\n[item]\nid = 'id'\n"
    )
    items, issues = read_folder(tmp_path)
    assert items == []
    assert "the items at results are not a list" in [issue.what for issue in issues]


def test_damaged_parquet_is_an_issue(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "fcreview-map.toml").write_text(
        HEADER + "[[source]]\nfiles = 'rows.parquet'\n[item]\nid = 'id'\n"
    )
    items, issues = read_folder(tmp_path)
    assert items == []
    assert issues[0].what.startswith("the file is not Parquet") and issues[0].severity == "error"


# -- mistakes and hostile content


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[item]\nid = "id"\nverdikt = "ok"\n', "unknown key item.verdikt"),
        ('[item]\nverdict = "ok"\n', "item.id is required"),
        ('[item]\nid = { path = "a", doc = "b" }\n', "item.id needs exactly one of"),
        ('[item]\nid = { path = "a", parse = "xml" }\n', "item.id.parse: 'xml' is not one of"),
        ('[item]\nid = "id"\nmessages = { path = "m", dialect = "klingon" }\n', "klingon"),
        ('[item]\nid = "id"\nverdict = { path = "v", from = "j" }\n', "there is no join j"),
        ('[item]\nid = "id"\nverdict = { path = "v", find = "(a+)+b" }\n', "take forever"),
        ('[item]\nid = "id"\nverdict = { path = "v", find = "(" }\n', "not a regular expression"),
        ('[item]\nid = "id"\n[[judge]]\nname = "j"\n', "judge[0].verdict is required"),
        ('[item]\nid = "id"\nverdict = { path = "v", pass = ["a"], fail = ["A"] }\n', "in fail"),
        ("[item\n", "the file is not TOML"),
    ],
)
def test_mistake_refuses_the_mapping(tmp_path: Path, text: str, problem: str) -> None:
    path = write_mapping(tmp_path, text, [{"id": 1, "v": True}])
    report = check_mapping_file(path)
    assert any(problem in each for each in report.problems)
    (plan,) = discover([tmp_path]).plans
    assert problem in plan.failure


def test_benchmark_of_another_importer_is_refused(tmp_path: Path) -> None:
    path = write_mapping(tmp_path, '[item]\nid = "id"\n', [{"id": 1}])
    path.write_text(path.read_text().replace('"desk"', '"bfcl"'))
    assert "is the name of an importer" in check_mapping_file(path).problems[0]


def test_slow_expression_is_stopped(tmp_path: Path) -> None:
    doubled = " | ".join(["[@, @][]"] * 40)
    path = write_mapping(tmp_path, f'[item]\nid = "id"\nquestion = "a | {doubled}"\n', [
        {"id": 1, "a": [1]}
    ])  # fmt: skip
    report = check_mapping_file(path)
    assert "takes more than 50 ms" in report.issues[0].what


def test_unnamed_mapping_reads_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"id": "s"}\n')
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "fcreview-map.toml").write_text(
        HEADER + '[[source]]\nfiles = "../secret.jsonl"\n[item]\nid = "id"\n'
    )
    found = discover([inner])
    assert found.plans == []
    assert any("outside of its folder" in issue.what for issue in found.issues)
    named = discover([inner], search=SearchOptions(mapping_file=inner / "fcreview-map.toml"))
    assert len(named.plans) == 1


def test_python_text_is_parsed_but_not_run(tmp_path: Path) -> None:
    rows = [{"id": 1, "t": "['a', {'b': None}]"}, {"id": 2, "t": "__import__('os').getpid()"}]
    text = '[item]\nid = "id"\nmetadata = { path = "t", parse = "python" }\n'
    path = write_mapping(tmp_path, text, rows)
    report = check_mapping_file(path)
    assert [issue.what for issue in report.issues] == [
        "item.metadata is not an object",
        "item.metadata is not a Python literal: __import__('os').getpid()",
    ]


MAPPED = (
    '[item]\nid = "id"\ntrial = "try"\nmodel = "bot"\ncategory = "kind"\n'
    'messages = { path = "dialog", dialect = "openai_chat" }\n'
    'golden = { path = "want", kind = "calls" }\ntools = "tools"\nverdict = "ok"\n'
    'error = "err"\n[[judge]]\nname = "j.who"\nverdict = "j.ok"\n'
    '[[human]]\nname = "h.who"\nverdict = "h.ok"\n'
)
WRONG_VALUES: Sequence[Any] = (5.5, "x", [], {}, [1], {"a": 1}, True)


def describe(items: Sequence[Item]) -> list[Any]:
    return [
        (
            item.id,
            item.category,
            [(m.role, m.content) for m in item.messages],
            [(c.name, c.arguments) for c in (*item.predicted, *item.golden)],
            [(v.source, v.value, v.by) for v in item.verdicts],
            [(r.author, r.verdict) for r in item.extra.recorded_reviews],
            [f["name"] for f in item.functions],
            item.incident,
        )
        for item in items
    ]


@pytest.mark.parametrize("field", ["id", "dialog", "want", "tools", "ok", "j.ok", "h.ok"])
@pytest.mark.parametrize("value", WRONG_VALUES, ids=repr)
def test_value_of_another_type_is_read_or_reported(tmp_path: Path, field: str, value: Any) -> None:
    """A changed field gives the value of the field, the same reading, or an issue with its line."""
    row: dict[str, Any] = {
        "id": 1,
        "try": 1,
        "bot": "m",
        "kind": "k",
        "dialog": DIALOG,
        "want": [{"name": "book", "arguments": {"people": 2}}],
        "tools": [{"name": "book", "parameters": {"type": "object", "properties": {}}}],
        "ok": True,
        "j": {"who": "oak", "ok": True},
        "h": {"who": "ann", "ok": True},
    }
    write_mapping(tmp_path, MAPPED, [row])
    before, _ = read_folder(tmp_path)
    target = row
    *parents, last = field.split(".")
    for name in parents:
        target = target[name]
    target[last] = value
    write_mapping(tmp_path, MAPPED, [row])
    after, issues = read_folder(tmp_path)
    reported = [issue for issue in issues if issue.line == 1]
    is_valid_value = value in ([], True) or (field == "id" and value in (5.5, "x"))
    is_valid_value = is_valid_value or (field == "tools" and value == {})
    assert reported or is_valid_value or describe(before) == describe(after)


def test_two_runs_of_the_reader_agree(samples: Path) -> None:
    first, _ = read_folder(samples / "mapping")
    second, _ = read_folder(samples / "mapping")
    assert describe(first) == describe(second)
    assert Counter(item.official for item in first) == {True: 3, False: 3}
