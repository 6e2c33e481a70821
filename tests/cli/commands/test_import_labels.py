"""`import-labels` and `label --from`: all of a file or nothing, and the line that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def item(number: int, **said: Any) -> dict[str, Any]:
    return {"id": f"simple_python_{number}", **said}


def journals(run: Path) -> list[str]:
    return [line for file in run.glob(".fcreview/reviews/*.jsonl") for line in file.read_text().splitlines()]


def test_many_are_labelled_at_once_and_again_changes_nothing(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write(
        tmp_path / "said.jsonl",
        item(0, value="fail", fault="model", tags=["unit"], note="wrong unit"),
        "\n",
        item(1, value=True, target="turn:1/call:1", golden_fix={"get_weather": {"city": ["Rome"]}}),
        item(2, value="1", criterion="completeness", target="response"),
    )
    done = cli("label", imported_run, "--from", file)
    assert (done.code, done.out) == (0, "wrote 3 reviews by tester\n")
    labels = {
        (label["id"], label["target"]): label for label in cli("export", imported_run, "--only", "reviewed").objects
    }
    first = labels["simple_python_0", "item"]
    assert (first["human"], first["fault"], first["tags"], first["notes"]) == (False, "model", ["unit"], ["wrong unit"])
    assert labels["simple_python_1", "turn:1/call:1"]["golden_fix"] == {"get_weather": {"city": ["Rome"]}}
    assert labels["simple_python_2", "response"]["human"] == 1
    before = journals(imported_run)
    assert cli("label", imported_run, "--from", file, "--json").objects == [{"written": 0, "already": 3, "older": 0}]
    assert journals(imported_run) == before


def test_from_records_what_label_records(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    """Not blind, and what the verdict overrules; a line with a time of its own was said then, one knows not how."""
    name = next(row["id"] for row in cli("items", imported_run, "--json").objects if row["official"] is False)
    assert cli("label", imported_run, name, "--verdict", "pass").code == 0
    file = write(
        tmp_path / "said.jsonl",
        {"id": name, "value": "pass"},
        {"id": name, "value": "pass", "target": "turn:1", "time": "2020-01-01T00:00:00Z"},
        {"id": name, "value": "pass", "target": "response", "blind": True},
    )
    assert cli("label", imported_run, "--from", file, "--annotator", "bob").code == 0
    said = {(line["annotator"], line["target"]): line for line in map(json.loads, journals(imported_run))}
    one, many = said["tester", "item"], said["bob", "item"]
    assert many["blind"] is one["blind"] is False
    assert many["overrules"] == one["overrules"]
    assert one["overrules"]["value"] is False
    assert said["bob", "turn:1"].get("blind") is None
    assert said["bob", "response"]["blind"] is True
    assert cli("import-labels", imported_run, file, "--annotator", "carol").code == 0
    assert [line.get("blind") for line in map(json.loads, journals(imported_run)) if line["annotator"] == "carol"] == [
        None, None, True,
    ]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{not JSON}\n", "invalid JSON"),
        ([1], "not a JSON object"),
        ({"value": True}, "id is missing"),
        ({"id": "nobody", "value": True}, "item not found: id nobody"),
        ({"id": "simple_python_0", "model": "oak", "value": True}, "model oak"),
        (item(1), "no review: expected one of value"),
        (item(1, value="maybe"), "'maybe' is not a valid verdict on correct"),
        (item(1, value=2), "2 is not a valid verdict on correct"),
        (item(1, value=True, criterion="completeness"), "on completeness"),
        (item(1, fault="nobody"), "fault must be one of"),
        (item(1, tags="a"), "tags has the wrong type"),
        (item(1, value=True, target="turn:0"), "invalid target"),
        (item(1, value=True, target="turn:2"), "has 1 turn"),
        (item(1, value=True, target="turn:1/call:2"), "has 1 call"),
        (item(1, value=True, act="retract"), "unknown act"),
        (item(1, value=True, time="yesterday"), "yesterday"),
        (item(1, opinions=3), "opinions"),
    ],
)
def test_one_wrong_line_is_named_and_nothing_is_written(
    cli: Cli, imported_run: Path, tmp_path: Path, line: Any, told: str
) -> None:
    file = write(tmp_path / "said.jsonl", item(0, value="pass"), line, item(2, value="fail"))
    done = cli("label", imported_run, "--from", file)
    assert (done.code, done.out) == (1, "")
    assert "said.jsonl line 2: " in done.err
    assert told in done.err
    assert not journals(imported_run)


def test_from_goes_with_no_verdict_and_no_item(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "said.jsonl", item(0, value="pass"))
    for more in (["simple_python_0"], ["--verdict", "pass"], ["--undo"]):
        assert cli("label", imported_run, *more, "--from", file).code == 2
    assert cli("label", imported_run, "--from", tmp_path / "no").code == 1


@pytest.mark.sweep
def test_reviews_of_a_named_annotator_are_taken_in(
    cli: Cli, imported_run: Path, two_copies: Path, tmp_path: Path
) -> None:
    for who, verdict in (("alice", "pass"), ("bob", "fail")):
        cli("label", imported_run, "simple_python_1", "--verdict", verdict, "--annotator", who, "--reason", who)
    for name in ("jsonl", "labelstudio"):
        assert cli("export", imported_run, "--format", name, "-o", tmp_path / name).code == 0
    done = cli("import-labels", two_copies, tmp_path / "jsonl", "--annotator", "bob")
    assert (done.code, done.out) == (0, "wrote 1 review by bob\n")
    again = cli("import-labels", two_copies, tmp_path / "labelstudio", "--annotator", "bob", "--format", "labelstudio")
    assert (again.code, again.out) == (0, "wrote 0 reviews by bob\n1 already recorded, skipped\n")
    (label,) = cli("export", two_copies, "--only", "reviewed").objects
    assert (label["annotators"], label["human"], label["notes"]) == (["bob"], False, ["bob"])
    nobody = cli("import-labels", two_copies, tmp_path / "jsonl", "--annotator", "carol")
    assert nobody.code == 1
    assert "alice (1), bob (1)" in nobody.err
    other = cli("import-labels", two_copies, tmp_path / "jsonl", "--annotator", "carol", "--said-by", "alice")
    assert other.out == "wrote 1 review by carol\n"


@pytest.fixture
def two_copies(imported_templates: Path, tmp_path: Path) -> Path:
    """The same run without reviews."""
    import shutil

    return shutil.copytree(imported_templates / "one", tmp_path / "copy")


@pytest.mark.sweep
def test_what_was_said_since_stands(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    cli("label", imported_run, "simple_python_1", "--verdict", "pass")
    cli("export", imported_run, "-o", tmp_path / "old.jsonl")
    cli("label", imported_run, "simple_python_1", "--verdict", "fail")
    done = cli("import-labels", imported_run, tmp_path / "old.jsonl", "--annotator", "tester", "--json")
    assert done.objects == [{"written": 0, "already": 0, "older": 1}]
    assert cli("export", imported_run, "--only", "reviewed").objects[0]["human"] is False


@pytest.mark.sweep
def test_what_was_changed_in_label_studio_is_of_who_changed_it(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    cli("label", imported_run, "simple_python_1", "--verdict", "pass", "--annotator", "alice")
    cli("export", imported_run, "--format", "labelstudio", "-o", tmp_path / "tasks", "--only", "reviewed")
    (task,) = json.loads((tmp_path / "tasks").read_text())
    assert [choice["value"] for choice in task["data"]["choices"]] == ["pass", "fail", "unsure"]
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["fail"]}
    own = task["annotations"][0]
    own["result"][0]["value"]["choices"] = ["fail"]
    own |= {"completed_by": {"id": 3, "email": "dora@x.org"}, "updated_at": "2026-03-09T21:52:49.513742Z"}
    added = {
        "completed_by": 4,
        "created_at": "2026-03-09T22:00:00Z",
        "result": [
            {"from_name": "verdict", "to_name": "text", "type": "choices", "value": {"choices": ["unsure"]}},
            {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": ["hm"]}},
        ],
    }
    task["annotations"] += [added, {"completed_by": 5, "was_cancelled": True, "result": []}]
    file = write(tmp_path / "back.json", json.dumps([task]))
    for who, name in (("dora", "dora@x.org"), ("four", "4")):
        done = cli(
            "import-labels", imported_run, file, "--annotator", who, "--said-by", name, "--format", "labelstudio"
        )
        assert done.out == f"wrote 1 review by {who}\n"
    (label,) = cli("export", imported_run, "--only", "reviewed").objects
    told = {said["annotator"]: (said["value"], said["note"], said["time"]) for said in label["opinions"]}
    assert told["dora"] == (False, None, "2026-03-09T21:52:49.513Z")
    assert told["four"] == ("unsure", "hm", "2026-03-09T22:00:00.000Z")
    for broken in ("{}", '[{"data": 1}, 3]', '[{"annotations": [{"result": [{}]}]}]'):
        file.write_text(broken)
        done = cli("import-labels", imported_run, file, "--annotator", "x", "--format", "labelstudio")
        assert (done.code, done.out) == (1, "")
        assert "task" in done.err
        assert "internal" not in done.err


def test_an_export_without_rows_says_why(cli: Cli, imported_run: Path) -> None:
    for more, why in (
        (["--where", "category:none"], "no item matches category:none"),
        (["--only", "adjudicated"], "6 items, none adjudicated yet"),
    ):
        done = cli("export", imported_run, *more)
        assert (done.code, done.out) == (0, "")
        assert why in done.err
    assert cli("export", imported_run, "--only", "x").code == 2
    assert cli("export", imported_run, "--with", "x").code == 2


@pytest.mark.sweep
def test_a_policy_is_said_at_the_head(cli: Cli, imported_run: Path) -> None:
    for who, verdict in (("a", "pass"), ("b", "pass"), ("c", "fail")):
        cli("label", imported_run, "simple_python_1", "--verdict", verdict, "--annotator", who)
    for command in ("runs", "report", "items"):
        usual, most = cli(command, imported_run), cli(command, imported_run, "--policy", "majority")
        assert "policy" not in usual.out
        assert most.out.startswith("policy majority: ")
        assert cli(command, imported_run, "--policy", "mine").code == 2
    (row,) = cli("runs", imported_run, "--policy", "majority", "--json").objects
    assert (row["effective_known"], row["effective_pass"]) == (6, 2)
    (row,) = cli("runs", imported_run, "--json").objects
    assert (row["effective_known"], row["effective_pass"], row["disputed"]) == (6, 1, 1)


def test_content_goes_along_on_request(cli: Cli, imported_run: Path) -> None:
    label = cli("export", imported_run, "--with", "content", "--where", "id:simple_python_1").objects[0]
    assert label["question"] == "What is the weather in Oslo?"
    assert label["messages"][0]["content"] == "What is the weather in Oslo?"
    assert [function["name"] for function in label["functions"]] == ["get_weather"]
    assert label["golden_calls"][0]["arguments"]["city"] == {"any_of": ["Oslo"], "optional": False}
    assert label["predicted_calls"][0]["arguments"] == {"city": "Rome", "unit": "celsius"}
    assert "messages" not in cli("export", imported_run).objects[0]


def test_an_id_that_several_runs_have_is_of_the_run_that_was_named(
    cli: Cli, two_imported_runs: Path, tmp_path: Path
) -> None:
    models = [run["model"] for run in cli("runs", two_imported_runs, "--json").objects]
    file = write(tmp_path / "said.jsonl", item(0, value="fail"))
    done = cli("label", two_imported_runs, "--from", file)
    assert done.code == 1 and "matches 2 items: add model to the record" in done.err
    for model in models:
        assert cli("label", two_imported_runs, "--run", model, "--from", file).code == 0
    folder = two_imported_runs / "result" / models[0]
    assert cli("label", folder, "--from", write(tmp_path / "more.jsonl", item(1, value="fail"))).code == 0
    said = [json.loads(line)["key"] for line in journals(two_imported_runs)]
    assert [(key["id"], key["model"]) for key in said[:2]] == [("simple_python_0", model) for model in models]
    assert said[2]["id"] == "simple_python_1" and len(said) == 3
    other = write(tmp_path / "other.jsonl", item(2, value="fail", model=models[0]))
    done = cli("label", two_imported_runs, "--run", models[1], "--from", other)
    assert done.code == 1 and "item not found" in done.err and len(journals(two_imported_runs)) == 3


def test_import_labels_has_a_default_annotator_and_takes_a_run(
    cli: Cli, two_imported_runs: Path, tmp_path: Path
) -> None:
    models = [run["model"] for run in cli("runs", two_imported_runs, "--json").objects]
    file = write(tmp_path / "labels.jsonl", item(0, value="fail"))
    assert cli("import-labels", two_imported_runs, file).code == 1
    done = cli("import-labels", two_imported_runs, file, "--run", models[1])
    assert (done.code, done.out) == (0, "wrote 1 review by tester\n")
    [line] = map(json.loads, journals(two_imported_runs))
    assert (line["key"]["model"], line["annotator"], line["act"]) == (models[1], "tester", "review")


def test_import_labels_can_adjudicate(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "labels.jsonl", item(0, value="fail"), item(1, value="unsure"))
    done = cli("import-labels", imported_run, file, "--adjudicate")
    assert done.code == 1 and "labels.jsonl line 2: " in done.err and not journals(imported_run)
    file = write(tmp_path / "labels.jsonl", item(0, value="fail"))
    assert cli("import-labels", imported_run, file, "--adjudicate").out == "wrote 1 review by tester\n"
    assert [json.loads(line)["act"] for line in journals(imported_run)] == ["adjudicate"]
