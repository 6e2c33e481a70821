"""`import-labels` and `label --from` import all lines of a file or none, and name the invalid
line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]


def write_file(path: Path, *lines: Any) -> Path:
    path.write_text(
        "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    )
    return path


def item_label(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"simple_python_{number}", **fields}


def journal_lines(run: Path) -> list[str]:
    return [
        line
        for file in run.glob(".fcreview/reviews/*.jsonl")
        for line in file.read_text().splitlines()
    ]


def test_label_file_is_imported_once(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write_file(
        tmp_path / "labels.jsonl",
        item_label(0, value="fail", fault="model", tags=["unit"], note="wrong unit"),
        "\n",
        item_label(
            1, value=True, target="turn:1/call:1", golden_fix={"get_weather": {"city": ["Rome"]}}
        ),
        item_label(2, value="1", criterion="completeness", target="response"),
    )
    done = cli("label", imported_run, "--from", file)
    assert (done.code, done.out) == (0, "wrote 3 reviews by tester\n")
    labels = {
        (label["id"], label["target"]): label
        for label in cli("export", imported_run, "--only", "reviewed").objects
    }
    first = labels["simple_python_0", "item"]
    assert (first["human"], first["fault"], first["tags"], first["notes"]) == (
        False,
        "model",
        ["unit"],
        ["wrong unit"],
    )
    assert labels["simple_python_1", "turn:1/call:1"]["golden_fix"] == {
        "get_weather": {"city": ["Rome"]}
    }
    assert labels["simple_python_2", "response"]["human"] == 1
    before = journal_lines(imported_run)
    assert cli("label", imported_run, "--from", file, "--json").objects == [
        {"written": 0, "already": 3, "older": 0}
    ]
    assert journal_lines(imported_run) == before


def test_from_records_same_fields_as_label(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    """Reviews are not blind and have the overridden verdict.

    A line with its own time has no blind flag.
    """
    name = next(
        row["id"]
        for row in cli("items", imported_run, "--json").objects
        if row["official"] is False
    )
    assert cli("label", imported_run, name, "--verdict", "pass").code == 0
    file = write_file(
        tmp_path / "labels.jsonl",
        {"id": name, "value": "pass"},
        {"id": name, "value": "pass", "target": "turn:1", "time": "2020-01-01T00:00:00Z"},
        {"id": name, "value": "pass", "target": "response", "blind": True},
    )
    assert cli("label", imported_run, "--from", file, "--annotator", "bob").code == 0
    events = {
        (line["annotator"], line["target"]): line
        for line in map(json.loads, journal_lines(imported_run))
    }
    one, many = events["tester", "item"], events["bob", "item"]
    assert many["blind"] is one["blind"] is False
    assert many["overrules"] == one["overrules"]
    assert one["overrules"]["value"] is False
    assert events["bob", "turn:1"].get("blind") is None
    assert events["bob", "response"]["blind"] is True
    assert cli("import-labels", imported_run, file, "--annotator", "carol").code == 0
    lines = map(json.loads, journal_lines(imported_run))
    assert [line.get("blind") for line in lines if line["annotator"] == "carol"] == [
        None,
        None,
        True,
    ]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not JSON}\n", "not valid JSON"),
        ([1], "not a JSON object"),
        ({"value": True}, "`id` is missing"),
        ({"id": "nobody", "value": True}, "item not found: id nobody"),
        ({"id": "simple_python_0", "model": "oak", "value": True}, "model oak"),
        (item_label(1), "no review. A review has one of the fields value, fault"),
        (item_label(1, value="maybe"), "'maybe' is not a valid verdict on correct"),
        (item_label(1, value=2), "2 is not a valid verdict on correct"),
        (item_label(1, value=True, criterion="completeness"), "on completeness"),
        (item_label(1, fault="nobody"), "fault must be one of"),
        (item_label(1, tags="a"), "tags has the wrong type"),
        (item_label(1, value=True, target="turn:0"), "invalid target"),
        (item_label(1, value=True, target="turn:2"), "has 1 turn"),
        (item_label(1, value=True, target="turn:1/call:2"), "has 1 call"),
        (item_label(1, value=True, act="retract"), "invalid `act`"),
        (item_label(1, value=True, time="yesterday"), "yesterday"),
        (item_label(1, opinions=3), "opinions"),
    ],
)
def test_invalid_line_is_named_and_nothing_is_written(
    cli: Cli, imported_run: Path, tmp_path: Path, line: Any, message: str
) -> None:
    file = write_file(
        tmp_path / "labels.jsonl", item_label(0, value="pass"), line, item_label(2, value="fail")
    )
    done = cli("label", imported_run, "--from", file)
    assert (done.code, done.out) == (1, "")
    assert "labels.jsonl line 2: " in done.err
    assert message in done.err
    assert not journal_lines(imported_run)


def test_from_excludes_verdict_and_item(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write_file(tmp_path / "labels.jsonl", item_label(0, value="pass"))
    for more in (["simple_python_0"], ["--verdict", "pass"], ["--undo"]):
        assert cli("label", imported_run, *more, "--from", file).code == 2
    assert cli("label", imported_run, "--from", tmp_path / "no").code == 1


@pytest.mark.sweep
def test_reviews_of_named_annotator_are_imported(
    cli: Cli, imported_run: Path, copy_without_reviews: Path, tmp_path: Path
) -> None:
    for who, verdict in (("alice", "pass"), ("bob", "fail")):
        cli(
            "label",
            imported_run,
            "simple_python_1",
            "--verdict",
            verdict,
            "--annotator",
            who,
            "--reason",
            who,
        )
    for name in ("jsonl", "labelstudio"):
        assert cli("export", imported_run, "--format", name, "-o", tmp_path / name).code == 0
    done = cli("import-labels", copy_without_reviews, tmp_path / "jsonl", "--annotator", "bob")
    assert (done.code, done.out) == (0, "wrote 1 review by bob\n")
    again = cli(
        "import-labels",
        copy_without_reviews,
        tmp_path / "labelstudio",
        "--annotator",
        "bob",
        "--format",
        "labelstudio",
    )
    assert (again.code, again.out) == (
        0,
        "wrote 0 reviews by bob\nskipped 1 review: already recorded\n",
    )
    (label,) = cli("export", copy_without_reviews, "--only", "reviewed").objects
    assert (label["annotators"], label["human"], label["notes"]) == (["bob"], False, ["bob"])
    nobody = cli("import-labels", copy_without_reviews, tmp_path / "jsonl", "--annotator", "carol")
    assert nobody.code == 1
    assert "alice (1), bob (1)" in nobody.err
    other = cli(
        "import-labels",
        copy_without_reviews,
        tmp_path / "jsonl",
        "--annotator",
        "carol",
        "--said-by",
        "alice",
    )
    assert other.out == "wrote 1 review by carol\n"


@pytest.fixture
def copy_without_reviews(imported_templates: Path, tmp_path: Path) -> Path:
    """A copy of the run without reviews."""
    import shutil

    return shutil.copytree(imported_templates / "one", tmp_path / "copy")


@pytest.mark.sweep
def test_newer_review_is_kept(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    cli("label", imported_run, "simple_python_1", "--verdict", "pass")
    cli("export", imported_run, "-o", tmp_path / "old.jsonl")
    cli("label", imported_run, "simple_python_1", "--verdict", "fail")
    done = cli(
        "import-labels", imported_run, tmp_path / "old.jsonl", "--annotator", "tester", "--json"
    )
    assert done.objects == [{"written": 0, "already": 0, "older": 1}]
    assert cli("export", imported_run, "--only", "reviewed").objects[0]["human"] is False


@pytest.mark.sweep
def test_label_studio_change_belongs_to_its_author(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    cli("label", imported_run, "simple_python_1", "--verdict", "pass", "--annotator", "alice")
    cli(
        "export",
        imported_run,
        "--format",
        "labelstudio",
        "-o",
        tmp_path / "tasks",
        "--only",
        "reviewed",
    )
    (task,) = json.loads((tmp_path / "tasks").read_text())
    assert [choice["value"] for choice in task["data"]["choices"]] == ["pass", "fail", "unsure"]
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["fail"]}
    own = task["annotations"][0]
    own["result"][0]["value"]["choices"] = ["fail"]
    own |= {
        "completed_by": {"id": 3, "email": "dora@x.org"},
        "updated_at": "2026-03-09T21:52:49.513742Z",
    }
    added = {
        "completed_by": 4,
        "created_at": "2026-03-09T22:00:00Z",
        "result": [
            {
                "from_name": "verdict",
                "to_name": "text",
                "type": "choices",
                "value": {"choices": ["unsure"]},
            },
            {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": ["hm"]}},
        ],
    }
    task["annotations"] += [added, {"completed_by": 5, "was_cancelled": True, "result": []}]
    file = write_file(tmp_path / "back.json", json.dumps([task]))
    for who, name in (("dora", "dora@x.org"), ("four", "4")):
        done = cli(
            "import-labels",
            imported_run,
            file,
            "--annotator",
            who,
            "--said-by",
            name,
            "--format",
            "labelstudio",
        )
        assert done.out == f"wrote 1 review by {who}\n"
    (label,) = cli("export", imported_run, "--only", "reviewed").objects
    opinions = {
        opinion["annotator"]: (opinion["value"], opinion["note"], opinion["time"])
        for opinion in label["opinions"]
    }
    assert opinions["dora"] == (False, None, "2026-03-09T21:52:49.513Z")
    assert opinions["four"] == ("unsure", "hm", "2026-03-09T22:00:00.000Z")
    for broken in ("{}", '[{"data": 1}, 3]', '[{"annotations": [{"result": [{}]}]}]'):
        file.write_text(broken)
        done = cli(
            "import-labels", imported_run, file, "--annotator", "x", "--format", "labelstudio"
        )
        assert (done.code, done.out) == (1, "")
        assert "task" in done.err
        assert "internal" not in done.err


def test_empty_export_is_explained(cli: Cli, imported_run: Path) -> None:
    for more, why in (
        (["--where", "category:none"], "no item matches category:none"),
        (["--only", "adjudicated"], "none of 6 items is adjudicated"),
    ):
        done = cli("export", imported_run, *more)
        assert (done.code, done.out) == (0, "")
        assert why in done.err
    assert cli("export", imported_run, "--only", "x").code == 2
    assert cli("export", imported_run, "--with", "x").code == 2


@pytest.mark.sweep
def test_policy_is_shown_above_output(cli: Cli, imported_run: Path) -> None:
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


def test_content_is_exported_on_request(cli: Cli, imported_run: Path) -> None:
    label = cli(
        "export", imported_run, "--with", "content", "--where", "id:simple_python_1"
    ).objects[0]
    assert label["question"] == "What is the weather in Oslo?"
    assert label["messages"][0]["content"] == "What is the weather in Oslo?"
    assert [function["name"] for function in label["functions"]] == ["get_weather"]
    assert label["golden_calls"][0]["arguments"]["city"] == {"any_of": ["Oslo"], "optional": False}
    assert label["predicted_calls"][0]["arguments"] == {"city": "Rome", "unit": "celsius"}
    assert "messages" not in cli("export", imported_run).objects[0]


def test_run_option_selects_item_of_several_runs(
    cli: Cli, two_imported_runs: Path, tmp_path: Path
) -> None:
    models = [run["model"] for run in cli("runs", two_imported_runs, "--json").objects]
    file = write_file(tmp_path / "labels.jsonl", item_label(0, value="fail"))
    done = cli("label", two_imported_runs, "--from", file)
    assert done.code == 1 and "matches 2 items: add model to the record" in done.err
    for model in models:
        assert cli("label", two_imported_runs, "--run", model, "--from", file).code == 0
    folder = two_imported_runs / "result" / models[0]
    assert (
        cli(
            "label",
            folder,
            "--from",
            write_file(tmp_path / "more.jsonl", item_label(1, value="fail")),
        ).code
        == 0
    )
    keys = [json.loads(line)["key"] for line in journal_lines(two_imported_runs)]
    assert [(key["id"], key["model"]) for key in keys[:2]] == [
        ("simple_python_0", model) for model in models
    ]
    assert keys[2]["id"] == "simple_python_1" and len(keys) == 3
    other = write_file(tmp_path / "other.jsonl", item_label(2, value="fail", model=models[0]))
    done = cli("label", two_imported_runs, "--run", models[1], "--from", other)
    assert (
        done.code == 1
        and "item not found" in done.err
        and len(journal_lines(two_imported_runs)) == 3
    )


def test_import_labels_uses_default_annotator_and_run_option(
    cli: Cli, two_imported_runs: Path, tmp_path: Path
) -> None:
    models = [run["model"] for run in cli("runs", two_imported_runs, "--json").objects]
    file = write_file(tmp_path / "labels.jsonl", item_label(0, value="fail"))
    assert cli("import-labels", two_imported_runs, file).code == 1
    done = cli("import-labels", two_imported_runs, file, "--run", models[1])
    assert (done.code, done.out) == (0, "wrote 1 review by tester\n")
    [line] = map(json.loads, journal_lines(two_imported_runs))
    assert (line["key"]["model"], line["annotator"], line["act"]) == (models[1], "tester", "review")


def test_import_labels_can_adjudicate(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = write_file(
        tmp_path / "labels.jsonl", item_label(0, value="fail"), item_label(1, value="unsure")
    )
    done = cli("import-labels", imported_run, file, "--adjudicate")
    assert (
        done.code == 1 and "labels.jsonl line 2: " in done.err and not journal_lines(imported_run)
    )
    file = write_file(tmp_path / "labels.jsonl", item_label(0, value="fail"))
    assert (
        cli("import-labels", imported_run, file, "--adjudicate").out == "wrote 1 review by tester\n"
    )
    assert [json.loads(line)["act"] for line in journal_lines(imported_run)] == ["adjudicate"]


def test_exported_table_has_the_same_reviews_as_json_lines(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    words = (
        "--verdict",
        "fail",
        "--fault",
        "golden",
        "--tag",
        "wrong unit",
        "--note",
        "=SUM(1); and\nmore",
    )
    assert cli("label", imported_run, "simple_python_0", *words).code == 0
    assert (
        cli(
            "label", imported_run, "simple_python_1", "--verdict", "pass", "--annotator", "bob"
        ).code
        == 0
    )
    files = {name: tmp_path / f"labels.{name}" for name in ("jsonl", "csv")}
    for name, file in files.items():
        assert cli("export", imported_run, "--format", name, "-o", file).code == 0
    (imported_run / ".fcreview" / "reviews" / "tester.jsonl").rename(tmp_path / "former")
    events = {}
    for name, file in files.items():
        done = cli("import-labels", imported_run, file, "--format", name)
        assert done.out == "wrote 1 review by tester\n"
        journal = imported_run / ".fcreview" / "reviews" / "tester.jsonl"
        events[name] = json.loads(journal.read_text())
        journal.unlink()
    assert events["csv"] == events["jsonl"]
    assert events["csv"]["note"] == "=SUM(1); and\nmore"


def test_invalid_table_records_nothing(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(
        "id;value\nsimple_python_0;TRUE\nsimple_python_1;TRUE\nmissing;pass\nsimple_python_1;WRONG\n"
    )
    done = cli("import-labels", imported_run, file, "--format", "csv")
    assert (done.code, done.out, journal_lines(imported_run)) == (1, "", [])
    assert (
        "labels.csv row 5: column B (value): 'WRONG' is not a valid verdict on correct" in done.err
    )
    file.write_text("id;value\nsimple_python_0;TRUE\nmissing;pass\n")
    done = cli("import-labels", imported_run, file, "--format", "csv")
    assert (done.code, journal_lines(imported_run)) == (1, [])
    assert "labels.csv row 3: item not found: id missing" in done.err
