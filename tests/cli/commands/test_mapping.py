"""`--map`, `map check` and `map propose`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]
MAPPING = """
[map]
version = 1
benchmark = "desk"

[[source]]
files = "runs/*.jsonl"

[item]
id = "id"
verdict = "ok"

[[human]]
name = "who"
verdict = "met"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a mapping file of another name, and with runs below it."""
    place = tmp_path / "data"
    (place / "runs").mkdir(parents=True)
    rows = [{"id": n, "ok": n > 1, "who": "ann", "met": True} for n in range(3)]
    (place / "runs/a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (place / "desk.toml").write_text(MAPPING)
    return place


def test_mapping_file_is_remembered(cli: Cli, folder: Path) -> None:
    runs = folder / "runs"
    assert cli("import", runs).code == 1
    assert cli("import", runs, "--map", folder / "desk.toml").code == 0
    assert [row["official"] for row in cli("items", runs, "--json").objects] == [False, False, True]
    (runs / "a.jsonl").write_text('{"id": 7, "ok": true}\n')
    assert [row["id"] for row in cli("items", runs, "--json").objects] == ["7"]
    cli("import", runs, "--map", "none")
    assert cli("import", runs).code == 1


def test_mapping_file_with_mistakes_is_refused(cli: Cli, folder: Path) -> None:
    (folder / "desk.toml").write_text(MAPPING.replace('"ok"', '"ok["'))
    done = cli("import", folder / "runs", "--map", folder / "desk.toml")
    assert done.code == 2
    assert "item.verdict: `ok[` is not a JMESPath expression (column 4)" in done.err
    assert not (folder / "runs/.fcreview").exists()


def test_mapping_file_without_files_is_refused(cli: Cli, folder: Path) -> None:
    (folder / "desk.toml").write_text(MAPPING.replace("runs/*.jsonl", "nothing/*.jsonl"))
    done = cli("import", folder / "runs", "--map", folder / "desk.toml")
    assert done.code == 2 and "no file matches nothing/*.jsonl" in done.err


def test_missing_mapping_file_names_the_shipped_ones(cli: Cli, folder: Path) -> None:
    done = cli("import", folder / "runs", "--map", "no-such.toml")
    assert done.code == 1 and "livemcpbench" in done.err


def test_changed_mapping_file_imports_again(cli: Cli, folder: Path) -> None:
    cli("import", folder / "runs", "--map", folder / "desk.toml")
    text = MAPPING.replace('"ok"', '{ path = "ok", pass = ["false"], fail = ["true"] }')
    (folder / "desk.toml").write_text(text)
    rows = cli("items", folder / "runs", "--json").objects
    assert [row["official"] for row in rows] == [True, True, False]


def test_human_verdicts_become_reviews(cli: Cli, folder: Path) -> None:
    mapping = folder / "desk.toml"
    cli("import", folder, "--map", mapping)
    labels = ("import-labels", folder, mapping, "--format", "mapping")
    done = cli(*labels, "--annotator", "ann")
    assert "wrote 3 reviews by ann" in done.out
    assert [row["human"] for row in cli("items", folder, "--json").objects] == [True, True, True]
    assert "wrote 0 reviews" in cli(*labels, "--annotator", "ann").out


def test_check_prints_counts_and_stores_nothing(cli: Cli, folder: Path) -> None:
    done = cli("map", "check", folder / "desk.toml")
    assert done.code == 0
    assert "item.verdict" in done.out and "3 items: 2 fail, 1 pass" in done.out
    assert not list(folder.rglob(".fcreview"))
    (row,) = [
        each
        for each in cli("map", "check", folder / "desk.toml", "--json").objects
        if each.get("key") == "item.verdict"
    ]
    assert (row["found"], row["missing"]) == (3, 0)


def test_check_has_exit_codes_for_data_and_for_mistakes(cli: Cli, folder: Path) -> None:
    with (folder / "runs/a.jsonl").open("a") as file:
        file.write("{\n")
    done = cli("map", "check", folder / "desk.toml")
    assert done.code == 1 and "a.jsonl:4: the line is not JSON" in done.out
    (folder / "desk.toml").write_text(MAPPING + "\n[extra]\n")
    done = cli("map", "check", folder / "desk.toml")
    assert done.code == 2 and "unknown table [extra]" in done.out


def test_proposed_mapping_can_be_imported(cli: Cli, folder: Path, samples: Path) -> None:
    shutil.copy(samples / "mapping/orders.jsonl", folder / "runs/a.jsonl")
    target = folder / "runs/fcreview-map.toml"
    done = cli("map", "propose", folder / "runs/a.jsonl", "-o", target)
    assert done.code == 0
    assert "lunch-1_trial_1" in done.out and "fcreview map check" in done.err
    assert cli("map", "propose", folder / "runs/a.jsonl", "-o", target).code == 1
    assert cli("import", folder / "runs").code == 0
    assert len(cli("items", folder / "runs", "--json").objects) == 6


def test_item_of_a_table_shows_its_raw_row(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,ok\na,true\nb,false\n")
    mapping = MAPPING.replace("runs/*.jsonl", "rows.csv").partition("[[human]]")[0]
    (tmp_path / "fcreview-map.toml").write_text(mapping)
    done = cli("show", tmp_path, "b")
    assert done.code == 0 and "official fail" in done.out
