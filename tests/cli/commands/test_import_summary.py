"""`fcreview import` summarizes issues, and header, screen and commands show the same number of
issues.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands import run_import
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from fcreview.tui.queue.header import sum_run_counts

Cli = Callable[..., Any]


def find_score_file(run: Path, model: str) -> Path:
    return next((run / "score" / model).rglob("*_score.json"))


def make_issue(what: str, item: str | None = None, severity: str = "warning") -> dict[str, Any]:
    return {
        "kind": "issue",
        "file": "x.json",
        "line": 1,
        "what": what,
        "item": item,
        "severity": severity,
    }


def test_issue_kinds_have_no_ids_or_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    issues = [
        *(
            make_issue(f"a_{n} is scored more than once. The first entry counts", f"a_{n}")
            for n in range(12)
        ),
        *(
            make_issue(f"live_simple_{n}-{n}-0 has no answer", f"live_simple_{n}-{n}-0#2")
            for n in range(5)
        ),
        *(
            make_issue(f"the result file has another reply. It is {'x' * n}", "a_1")
            for n in range(4)
        ),
        *(
            make_issue(f"score id {n} is position {n - 1}, but the entry quotes b_{n}", f"b_{n}")
            for n in range(10, 13)
        ),
        *(make_issue(f"the header counts {n} failures of V4") for n in range(2)),
        make_issue("unknown field 'x'"),
        make_issue("unknown field 'y'"),
    ]
    run_import._print_issues(issues, "warning")
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines[2::2]] == [
        "12 x  … is scored more than once. The first entry counts",
        "5 x  … has no answer",
        "4 x  the result file has another reply",
        "3 x  score id … is position …, but the entry quotes …",
        "2 x  the header counts … failures of V4",
        "1 x  unknown field 'x'",
        "1 x  unknown field 'y'",
    ]


def test_errors_come_before_warnings_and_notices(cli: Cli, two_runs: Path) -> None:
    (two_runs / "junk.json").write_text('{"a": 1}')
    path = find_score_file(two_runs, "maple")
    path.write_bytes(path.read_bytes()[:-200])
    find_score_file(two_runs, "birch").unlink()
    done = cli("import", two_runs, "--json")
    severities = [each["severity"] for each in done.objects if each["kind"] == "issue"]
    assert severities == sorted(severities)
    assert set(severities) == {"error", "notice"}
    out = cli("import", two_runs, "--workspace", two_runs.parent / "other").out
    assert out.index(" error") < out.index(" notice")
    with Store.open(find_workspace(two_runs)) as store:
        found = [each.severity for each in store.fetch_issues()]
    assert found == sorted(found)


def test_missing_score_file_is_issue(cli: Cli, one_run: Path) -> None:
    scores = next((one_run / "score").rglob("*_score.json"))
    results = next((one_run / "result").rglob("*_result.json"))
    more = results.with_name(results.name.replace("simple_python", "multiple"))
    more.write_text(json.dumps({"id": "multiple_0", "result": "[]"}) + "\n")
    done = cli("import", one_run, "--json")
    issues = [each for each in done.objects if each["kind"] == "issue"]
    (warning,) = [each for each in issues if "no score file for multiple" in each["what"]]
    assert (warning["severity"], warning["run"]) == ("warning", 1)
    out = cli("import", one_run).out
    assert re.search(r"7 +[\d.]+ % of 6 ", out)
    assert "no score file for multiple" in out
    scores.unlink()
    issues = [each for each in cli("import", one_run, "--json").objects if each["kind"] == "issue"]
    assert [each["severity"] for each in issues if "no score files, so" in each["what"]] == [
        "notice"
    ]


def test_time_includes_search(cli: Cli, one_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discover = run_import.discover_runs

    def slow(*args: Any) -> Any:
        time.sleep(0.4)
        return discover(*args)

    monkeypatch.setattr(run_import, "discover_runs", slow)
    match = re.search(r"([\d.]+) s, saved in", cli("import", one_run).out)
    assert match is not None and float(match[1]) >= 0.4


@pytest.mark.parametrize("opened", ["all", "one"])
def test_header_and_screen_count_same_issues(cli: Cli, two_runs: Path, opened: str) -> None:
    (two_runs / "junk.json").write_text('{"a": 1}')
    path = find_score_file(two_runs, "maple")
    path.write_bytes(path.read_bytes()[:-200])
    find_score_file(two_runs, "birch").unlink()
    cli("import", two_runs)
    with Store.open(find_workspace(two_runs)) as store:
        runs = store.fetch_runs()
        shown = runs if opened == "all" else runs[:1]
        assert (
            sum_run_counts(shown).issues
            == len(store.fetch_issues(runs=[row.run for row in shown]))
            > 1
        )
        assert sum(row.n_issues for row in runs) + runs[0].n_search_issues == len(
            store.fetch_issues()
        )
