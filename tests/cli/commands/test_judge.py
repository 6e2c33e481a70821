"""`fcreview judge` against a local server: nothing is sent without a yes, no verdict is lost or
doubled, no key is printed, and no verdict is shown before the annotator's own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.base import EXPORTERS
from tests import waiting
from tests.cli import judge_server
from tests.cli.judge_server import completion, reply_json, reply_with, serve
from tests.commands import PROGRAM

pytestmark = pytest.mark.slow

Cli = Callable[..., Any]
KEY = "topsecret-0123456789"
N_ITEMS = 6


@pytest.fixture
def run(imported_templates: Path, tmp_path: Path) -> Path:
    return shutil.copytree(imported_templates / "one", tmp_path / "runs")


@pytest.fixture
def judge(cli: Cli, run: Path) -> Cli:
    """Run `fcreview judge` with the endpoint of a server, and a key."""

    def ask(url: str, *arguments: str) -> Any:
        return cli(
            "judge",
            run,
            *("--endpoint", url, "--model", "oak", "--key-env", "JUDGE_KEY", *arguments),
            JUDGE_KEY=KEY,
        )

    return ask


def read_records(run: Path, name: str = "oak") -> list[dict[str, Any]]:
    path = run / ".fcreview" / "judgements" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def list_judged_ids(run: Path, act: str = "verdict") -> list[str]:
    return sorted(each["key"]["id"] for each in read_records(run) if each["act"] == act)


def test_nothing_is_sent_without_a_yes(judge: Cli, run: Path) -> None:
    with serve() as server:
        refused = judge(server.url)
        dry = judge(server.url, "--dry-run")
    assert refused.code == 1
    assert "Pass --yes" in refused.err
    assert f"6 items to send to {server.url}/chat/completions, model oak" in refused.err
    assert "tokens for each item" in refused.err
    assert dry.code == 0
    assert "Golden answer:" in dry.out
    assert server.requests == []
    assert not (run / ".fcreview" / "judgements").exists()


def test_source_must_be_named(cli: Cli, run: Path) -> None:
    for arguments in ([], ["--endpoint", "http://localhost", "--command", "x"]):
        done = cli("judge", run, *arguments, "--yes")
        assert (done.code, "one of --endpoint" in done.err) == (2, True)
    done = cli("judge", run, "--endpoint", "http://localhost/v1", "--yes")
    assert "needs --model" in done.err


def test_verdicts_are_recorded_with_prompt_model_date_and_split(judge: Cli, run: Path) -> None:
    with serve() as server:
        prices = ("--price-in", "2", "--price-out", "10")
        done = judge(server.url, "--yes", "--json", *prices)
    assert done.code == 0, done.err
    (totals,) = done.objects
    assert (totals["verdicts"], totals["failed"], totals["left"]) == (N_ITEMS, 0, 0)
    assert (totals["tokens_in"], totals["tokens_out"]) == (600, 60)
    assert totals["cost"] == pytest.approx(600 * 2e-6 + 60 * 10e-6)
    assert "cost without replies about 0.00" in done.err
    setup, *verdicts = read_records(run)
    assert setup["act"] == "setup"
    assert len(verdicts) == N_ITEMS
    for verdict in verdicts:
        assert verdict["prompt_hash"] == setup["prompt_hash"]
        assert (verdict["model"], verdict["split"], verdict["verdict"]) == ("oak-1", "test", True)
        assert verdict["time"].startswith("20")
    assert server.requests[0]["temperature"] == 0


def test_known_items_are_not_sent_again(judge: Cli, run: Path) -> None:
    with serve() as server:
        judge(server.url, "--yes", "--limit", "2")
        assert len(server.requests) == 2
        done = judge(server.url, "--yes")
        again = judge(server.url, "--yes")
    assert len(server.requests) == N_ITEMS
    assert len(set(server.prompts)) == N_ITEMS
    assert "not sent: 2 with a verdict" in done.err
    assert "0 items to send" in again.err
    assert len(list_judged_ids(run)) == len(set(list_judged_ids(run))) == N_ITEMS


def test_failure_is_an_incident_and_is_tried_again(judge: Cli, run: Path) -> None:
    def fail_odd(handler: Any, number: int) -> None:
        replies = [
            {"choices": [{"message": {"content": "I am not sure"}}]},
            completion('{"verdict": "pass"}', finish="length"),
            b"<html>",
            {"error": "too long"},
        ]
        if number >= len(replies):
            judge_server.reply_pass(handler, number)
            return
        status = 400 if number == 3 else 200
        reply_json(handler, replies[number], status)

    with serve(fail_odd) as server:
        done = judge(server.url, "--yes", "--json", "--concurrency", "1")
        (totals,) = done.objects
        assert done.code == 0
        assert totals["failures"] == {
            "no_verdict": 1,
            "truncated": 1,
            "bad_reply": 1,
            "http_error": 1,
        }
        assert len(list_judged_ids(run, "incident")) == 4
        assert not set(list_judged_ids(run, "incident")) & set(list_judged_ids(run))
        assert judge(server.url, "--yes", "--json").objects[0]["verdicts"] == 4
    assert len(set(list_judged_ids(run))) == N_ITEMS


def test_judge_that_always_fails_is_stopped(judge: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcreview.cli.commands.judge.MAX_FAILURES_IN_ROW", 3)
    with serve(reply_with({"error": f"bad key {KEY}"}, 400)) as server:
        done = judge(server.url, "--yes", "--concurrency", "1")
    assert done.code == 1
    assert "stopped after 3 failures in a row" in done.err
    assert len(server.requests) <= 4


@pytest.mark.parametrize("status", [401, 307, 500])
def test_key_is_never_printed_or_stored(judge: Cli, run: Path, status: int) -> None:
    behave = reply_with({"error": {"message": f"key {KEY} is wrong"}}, status, Location="/x")
    with serve(behave) as server:
        done = judge(server.url, "--yes", "--retries", "0", "--limit", "1", "--json")
    assert KEY not in done.out + done.err
    assert server.headers[0]["Authorization"].endswith(KEY)
    for path in (run / ".fcreview").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_key_that_the_judge_repeats_is_not_stored(judge: Cli, run: Path) -> None:
    text = json.dumps({"verdict": "pass", "reason": f"your key is {KEY}"})
    with serve(reply_with(completion(text))) as server:
        judge(server.url, "--yes", "--limit", "1")
    assert read_records(run)[1]["rationale"] == "your key is [redacted]"


def test_parameters_are_sent_and_must_not_be_keys(judge: Cli) -> None:
    with serve() as server:
        judge(server.url, "--yes", "--limit", "1", "--param", "temperature=null", "--param", "n=1")
        refused = judge(server.url, "--param", 'api_key="abcdef123456"', "--name", "b")
        invalid = judge(server.url, "--param", "model=1", "--name", "b")
    assert "temperature" not in server.requests[0]
    assert server.requests[0]["n"] == 1
    assert (refused.code, "abcdef123456" in refused.err) == (2, False)
    assert invalid.code == 2


def test_template_of_the_workspace_is_used_and_fixed(judge: Cli, cli: Cli, run: Path) -> None:
    template = run / ".fcreview" / "judge-prompt.md"
    assert cli("judge", run, "--write-prompt").code == 0
    assert cli("judge", run, "--write-prompt").code == 1
    with serve() as server:
        template.write_text("{{predictd}}")
        assert "unknown placeholder {{predictd}}" in judge(server.url, "--yes").err
        template.write_text("Only this: {{predicted}}")
        judge(server.url, "--yes", "--limit", "1")
        assert server.prompts[0].startswith("Only this: <<< predicted ")
        template.write_text("Or this: {{predicted}}")
        other = judge(server.url, "--yes")
        assert (other.code, len(server.requests)) == (1, 1)
        assert "different: prompt" in other.err
        assert judge(server.url, "--yes", "--name", "second").code == 0


def test_examples_are_shown_to_the_judge_and_not_measured(judge: Cli, cli: Cli, run: Path) -> None:
    for number, verdict in enumerate(["pass", "fail", "fail"]):
        cli("label", run, f"simple_python_{number}", "--verdict", verdict)
    with serve() as server:
        nothing = judge(server.url, "--yes", "--examples", "5", "--criterion", "equivalent")
        assert (nothing.code, "no item has a human verdict" in nothing.err) == (2, True)
        done = judge(server.url, "--yes", "--examples", "2")
        assert "not sent: 2 used as examples" in done.err
        again = judge(server.url, "--yes", "--examples", "2")
        assert again.code == 0, again.err
        changed = judge(server.url, "--yes", "--examples", "3")
        assert "different: examples" in changed.err
    assert len(server.requests) == N_ITEMS - 2
    assert '{"verdict": "pass"}' in server.prompts[0]
    assert '{"verdict": "fail"}' in server.prompts[0]
    examples = {each["key"]["id"] for each in read_records(run)[0]["examples"]}
    assert not examples & set(list_judged_ids(run))
    groups = cli("calibrate", run, "--json", "--by", "overall").objects
    (measured,) = [each for each in groups if each.get("judge") == "oak (fcreview)"][:1]
    assert measured["n"] == 1


def test_verdicts_are_hidden_in_items_and_show(judge: Cli, cli: Cli, run: Path) -> None:
    with serve() as server:
        judge(server.url, "--yes")
    item = "simple_python_1"
    cli("label", run, item, "--verdict", "fail")

    lists = cli("items", run, "--json").objects
    assert [each["id"] for each in lists if each["judgements"]] == [item]
    assert (
        len(
            [
                each
                for each in cli("items", run, "--json", "--show-judge").objects
                if each["judgements"]
            ]
        )
        == N_ITEMS
    )
    text = cli("items", run).out
    assert text.count("hidden") == N_ITEMS - 1

    for options, is_shown in (([], True), (["--annotator", "bob"], False)):
        for form in ([], ["--json"], ["--full"]):
            assert ("zork" in cli("show", run, item, *options, *form).out) is is_shown
    assert "zork" in cli("show", run, item, "--annotator", "bob", "--show-judge").out
    report = cli("report", run, "--annotator", "bob").out + cli("runs", run).out
    assert "fcreview)" not in report
    hidden = cli("calibrate", run, "--annotator", "bob")
    assert "not counted on 1 item" in hidden.err
    assert "oak" not in hidden.out


def list_exported_texts(cli: Cli, run: Path, folder: Path) -> dict[str, str]:
    """Export the run in each format that can be exported, and return the contents by format."""
    texts = {}
    for name in EXPORTERS:
        out = folder / name
        if cli("export", run, "--format", name, "-o", out).code:
            continue  # such as Inspect logs of a run of BFCL
        files = [path for path in [out, *out.rglob("*")] if path.is_file()]
        texts[name] = "".join(path.read_bytes().decode("utf-8", "replace") for path in files)
    return texts


def test_no_export_has_a_verdict_before_ones_own(
    judge: Cli, cli: Cli, run: Path, tmp_path: Path
) -> None:
    with serve() as server:
        assert judge(server.url, "--yes").code == 0
    exported = list_exported_texts(cli, run, tmp_path)
    assert {"jsonl", "csv", "parquet", "hf", "labelstudio", "rewards", "eee"} <= set(exported)
    for name, text in exported.items():
        assert "zork" not in text, name
    for name in ("jsonl", "csv"):
        assert "zork" in cli("export", run, "--format", name, "--show-judge").out


def test_exported_labels_have_the_verdicts_of_judges_with_their_origin(
    judge: Cli, cli: Cli, run: Path
) -> None:
    with serve() as server:
        assert judge(server.url, "--yes").code == 0
    first = list_judged_ids(run)[0]
    assert cli("label", run, first, "--verdict", "pass").code == 0
    labels = cli("export", run).objects
    judgements = {
        label["id"]: label["judgements"]
        for label in labels
        if (label["target"], label["criterion"]) == ("item", "correct")
    }
    assert [name for name, found in judgements.items() if found] == [first]
    ((judgement),) = judgements[first]
    record = next(
        each
        for each in read_records(run)
        if each["act"] == "verdict" and each["key"]["id"] == first
    )
    assert judgement == {
        "judge": "oak",
        "value": record["verdict"],
        **{name: record[name] for name in ("target", "criterion", "rationale", "model")},
        **{name: record[name] for name in ("prompt_hash", "split", "time")},
    }
    assert judgement["split"] == "test"
    # A judge's verdict is no review, and changes no effective verdict.
    assert all(label["n_annotators"] == (label["id"] == first) for label in labels)


def test_judges_are_listed_without_verdicts(judge: Cli, cli: Cli, run: Path) -> None:
    assert "no judges" in cli("judge", run, "--list").out
    with serve() as server:
        judge(server.url, "--yes")
    (facts,) = cli("judge", run, "--list", "--json").objects
    assert (facts["judge"], facts["verdicts"], facts["tokens_in"]) == ("oak", N_ITEMS, 600)
    assert "pass" not in json.dumps(facts)


ECHO = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    verdict = "pass" if "Oslo" in request["prompt"] else "fail"
    print(json.dumps({"id": request["id"], "verdict": verdict}), flush=True)
"""


def test_command_judges_items(cli: Cli, run: Path, tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    command = f"{sys.executable} {tmp_path / 'echo.py'}"
    done = cli("judge", run, "--command", command, "--name", "oak", "--yes", "--json")
    assert done.code == 0, done.err
    assert done.objects[0]["verdicts"] == N_ITEMS
    assert len(list_judged_ids(run)) == N_ITEMS


def test_other_workspace_is_merged(judge: Cli, cli: Cli, run: Path, tmp_path: Path) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    with serve() as server:
        judge(server.url, "--yes")
    done = cli("merge", other, run, "--yes")
    assert "judge oak: 6 new verdicts" in done.out
    assert list_judged_ids(other) == list_judged_ids(run)
    merged = cli("merge", other, run, "--yes", "--json").objects
    assert next(each for each in merged if each.get("judge") == "oak")["new"] == 0

    # The folder of the judges is enough.
    third = shutil.copytree(run, tmp_path / "third")
    shutil.rmtree(third / ".fcreview" / "judgements")
    shared = tmp_path / "shared" / ".fcreview"
    shutil.copytree(run / ".fcreview" / "judgements", shared / "judgements")
    assert "judge oak: 6 new verdicts" in cli("merge", third, shared.parent, "--yes").out


@pytest.mark.process
def test_killed_command_continues_without_loss_or_double(
    run: Path, environ: dict[str, str], judge: Cli
) -> None:
    """The process is killed while a request runs, after each number of verdicts that it showed."""
    arguments = ["--model", "oak", "--key-env", "JUDGE_KEY", "--yes", "--concurrency", "2"]
    answered: list[int] = []
    pause = 3

    def answer_or_wait(handler: Any, number: int) -> None:
        if len(answered) >= pause:
            return  # never answers
        answered.append(number)
        judge_server.reply_pass(handler, number)

    with serve(answer_or_wait) as server:
        process = subprocess.Popen(
            [*PROGRAM, "judge", str(run), "--endpoint", server.url, *arguments],
            env=environ | {"JUDGE_KEY": KEY},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        path = run / ".fcreview" / "judgements" / "oak.jsonl"
        waiting.until(lambda: path.exists() and path.read_bytes().count(b'"verdict":true') >= pause)
        before = list_judged_ids(run)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert set(before) <= set(list_judged_ids(run))

        server.behave = judge_server.reply_pass
        done = judge(server.url, "--yes")
    assert done.code == 0, done.err
    ids = list_judged_ids(run)
    assert len(ids) == len(set(ids)) == N_ITEMS
    assert set(before) <= set(ids)
