"""Errata are created from reviews, checked, and applied to runs with `--errata`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.errata import parse_errata, serialize_errata
from tests.commands import Done

Cli = Callable[..., Done]
ITEM = "live_simple_3-3-0"


@pytest.fixture
def runs(tmp_path: Path, samples: Path) -> Path:
    return shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )


@pytest.fixture(scope="module")
def errata_folder(module_cli: Cli, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, cli = tmp_path_factory.mktemp("errata"), module_cli
    runs = shutil.copytree(
        samples / "bfcl", place / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    fix = json.dumps({"ground_truth": [{"timer.start": {"minutes": [30], "name": ["bread", ""]}}]})
    done = cli(
        "label", runs, ITEM, "--run", "maple-8b", "--golden-fix", fix, "--reason", "so asked"
    )
    assert done.code == 0, done.err
    out = place / "errata.jsonl"
    done = cli("errata", "create", runs, "-o", out)
    assert done.code == 0 and "1 golden answer and 0 rules" in done.err, done.err
    return place


@pytest.fixture
def errata(errata_folder: Path, runs: Path, tmp_path: Path) -> Path:
    """An errata file with one golden answer (30 minutes)."""
    shutil.copytree(errata_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "errata.jsonl"


def rule_verdicts(cli: Cli, runs: Path, *more: str | Path) -> dict[tuple[str, str], bool | None]:
    rows = cli("items", runs, "--json", "--queue", "dataset", *more).objects
    return {(row["model"], row["id"]): row["rule"] for row in rows}


@pytest.mark.sweep
def test_erratum_rescores_only_its_item(cli: Cli, runs: Path, errata: Path) -> None:
    before = rule_verdicts(cli, runs)
    after = rule_verdicts(cli, runs, "--errata", errata)
    changed = {key for key in before if before[key] is not after[key]}
    assert changed and {item for _, item in changed} == {ITEM}
    errata.unlink()
    assert rule_verdicts(cli, runs) == after, "the workspace keeps the errata"
    again = cli("errata", "create", runs, "-o", errata, "--force")
    assert again.code == 0 and "1 golden answer" in again.err, "applied errata are included"
    assert rule_verdicts(cli, runs, "--errata", "none") == before


@pytest.mark.sweep
def test_errata_keep_reviews(cli: Cli, runs: Path, errata: Path) -> None:
    for verdict in ("pass", "fail"):
        assert cli("label", runs, ITEM, "--run", "maple-8b", "--verdict", verdict).code == 0
        before = cli("items", runs, "--json", "--queue", "dataset").objects
        after = cli("items", runs, "--json", "--queue", "dataset", "--errata", errata).objects
        for row, same in zip(after, before, strict=True):
            assert (row["human"], row["effective"]) == (same["human"], same["effective"])
        humans = [row["human"] for row in after if (row["id"], row["model"]) == (ITEM, "maple-8b")]
        assert humans == [verdict == "pass"]
        cli("import", runs, "--errata", "none")


@pytest.mark.sweep
def test_report_shows_figures_with_and_without_errata(cli: Cli, runs: Path, errata: Path) -> None:
    plain = cli("report", runs, "--json").objects
    assert all("errata" not in line for line in plain)
    lines = cli("report", runs, "--errata", errata, "--json").objects
    assert [line["rule"] for line in lines] == [line["rule"] for line in plain]
    assert [line["official"] for line in lines] == [line["official"] for line in plain]
    moved = [
        line for line in lines if line["errata"] != line["rule"] and line["errata"] is not None
    ]
    assert moved and all(line["errata"] > line["rule"] for line in moved if line["unit"] == "share")
    assert "official recomputed errata corrected" in " ".join(cli("report", runs).out.split())


@pytest.mark.sweep
def test_edited_errata_are_refused(cli: Cli, runs: Path, errata: Path) -> None:
    assert cli("errata", "check", errata).code == 0
    (checked,) = cli("errata", "check", errata, "--json").objects
    assert list(checked) == ["file", "date", "who", "digest", "goldens", "rules"]
    assert (checked["file"], checked["goldens"], checked["rules"]) == (str(errata), 1, [])
    errata.write_text(errata.read_text().replace("so asked", "so said"))
    for command in (("errata", "check", errata), ("report", runs, "--errata", errata)):
        done = cli(*command)
        assert done.code == 1 and "changed after it was written" in done.err


@pytest.mark.sweep
def test_stale_erratum_is_reported_and_not_applied(cli: Cli, runs: Path, errata: Path) -> None:
    for file in (runs / "data").rglob("possible_answer/*live_simple.json"):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        for record in records:
            if record["id"] == ITEM:
                record["ground_truth"] = [{"timer.start": {"minutes": [99]}}]
        file.write_text("\n".join(map(json.dumps, records)))
    shutil.rmtree(runs / "score")
    issues = [
        one
        for one in cli("import", runs, "--errata", errata, "--json").objects
        if one["kind"] == "issue"
    ]
    stale = [one for one in issues if "stale erratum" in one["what"]]
    assert stale and all((one["item"], one["line"]) == (ITEM, 2) for one in stale)
    assert rule_verdicts(cli, runs)["maple-8b", ITEM] is False
    cli("import", runs, "--errata", "none")
    assert (
        f"line 2 of the errata, item {ITEM}: stale erratum, not applied"
        in cli("runs", runs, "--errata", errata).err
    )


@pytest.mark.sweep
def test_item_shows_source_of_golden_answer(cli: Cli, runs: Path, errata: Path) -> None:
    """A stale erratum is shown too."""
    show = ("show", runs, ITEM, "--run", "maple-8b", "--errata")
    lines = cli(*show, errata).out.splitlines()
    at = next(
        at for at, line in enumerate(lines) if "golden answer from errata · tester · 20" in line
    )
    assert lines[at + 1].strip() == "so asked" and lines[at + 2].startswith("before  ")
    (shown_item,) = cli(*show, errata, "--json").objects
    erratum = shown_item["item"]["extra"]["erratum"]
    assert (erratum["who"], erratum["reasons"], erratum["stale"]) == (["tester"], ["so asked"], "")
    assert erratum["old"] == parse_errata(errata.read_bytes()).entries.popitem()[1].old
    others = cli("items", runs, "--json", "--queue", "dataset").objects
    other = next(row for row in others if row["id"] != ITEM and row["benchmark"] == "bfcl")
    assert "errata" not in cli("show", runs, other["id"], "--run", str(other["run"])).out
    entries = [
        replace(one, question_hash="0" * 16)
        for one in parse_errata(errata.read_bytes()).entries.values()
    ]
    errata.write_bytes(serialize_errata(entries, [], "2026-01-01", "tester"))
    out = cli(*show, errata).out
    assert (
        "erratum not applied · tester · 2026-01-01" in out
        and "stale: the question has changed" in out
    )


@pytest.mark.sweep
def test_issue_text_lists_errata(cli: Cli, errata: Path, tmp_path: Path) -> None:
    done = cli("errata", "issue", errata)
    assert done.code == 0
    for part in (
        "# Golden answers to correct",
        f"### `{ITEM}`",
        "so asked",
        "**Runs**: ",
        "`tester`",
    ):
        assert part in done.out
    assert cli("errata", "issue", errata, "-o", tmp_path / "issue.md").code == 0
    assert (tmp_path / "issue.md").read_text().strip() == done.out.strip()


@pytest.mark.sweep
def test_errata_output_keeps_links_and_permissions(
    cli: Cli, runs: Path, errata: Path, tmp_path: Path
) -> None:
    """Links, permissions and named pipes are kept, and a folder is refused."""
    target = tmp_path / "target"
    for command in (("issue", errata), ("create", runs)):
        target.write_text("before")
        target.chmod(0o640)
        link = tmp_path / f"{command[0]}.link"
        link.symlink_to(target)
        assert cli("errata", *command, "-o", link, "--force").code == 0
        assert (
            link.is_symlink()
            and target.read_text() != "before"
            and target.stat().st_mode & 0o777 == 0o640
        )
        pipe = tmp_path / f"{command[0]}.pipe"
        os.mkfifo(pipe)
        with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
            assert cli("errata", *command, "-o", pipe).code == 0
            assert pipe.is_fifo() and len(reader.read().strip()) == len(target.read_bytes().strip())
        before = sorted(tmp_path.iterdir())
        refused = cli("errata", *command, "-o", runs)
        assert refused.code == 1 and "is a folder" in refused.err
        assert sorted(tmp_path.iterdir()) == before, "no temporary file is left"


@pytest.mark.sweep
def test_unsupported_benchmark_is_reported(cli: Cli, samples: Path, tmp_path: Path) -> None:
    runs, file = tmp_path / "confetti", tmp_path / "confetti.jsonl"
    shutil.copytree(samples / "confetti", runs)
    fix = json.dumps(
        {"ground_truth": [{"Garden_find_plants": {"light": ["shade"], "max_height": [60]}}]}
    )
    assert cli("label", runs, "conversationsclean_0", "--run", "1", "--golden-fix", fix).code == 0
    assert cli("errata", "create", runs, "-o", file).code == 0
    assert "CONFETTI" in cli("errata", "check", file).out
    done = cli("report", runs, "--errata", file)
    assert (
        done.code == 1
        and "cannot apply errata of CONFETTI, only errata of BFCL, ACEBench" in done.err
    )
    assert cli("report", runs).code == 0


@pytest.mark.sweep
def test_no_corrections_write_no_file(cli: Cli, runs: Path, tmp_path: Path) -> None:
    done = cli("errata", "create", runs, "-o", tmp_path / "none.jsonl")
    assert done.code == 1 and "no corrected golden answers or accepted rules" in done.err
    assert not (tmp_path / "none.jsonl").exists()
