"""Failed requests are found in every format, and replies of models are never taken for one."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.incidents import find_incident as find_bfcl_incident
from fcreview.importers.generic_format.incidents import find_line_incident
from fcreview.importers.inspect.incidents import find_incident as find_inspect_incident
from fcreview.importers.registry import discover, read_items
from fcreview.importers.tau.incidents import find_simulation_incident, find_version1_incident
from fcreview.model.incident import describe_incident
from fcreview.model.item import Item

Kinds = dict[str, str]


def read_bench_items(folder: Path) -> list[Item]:
    assert folder.is_dir()
    found = discover([folder])
    return [item for plan in found.plans for item in read_items(plan) if isinstance(item, Item)]


def list_counted_kinds(items: list[Item]) -> Kinds:
    """Return item id -> kind of the items that figures without incidents leave out."""
    return {item.id: str(item.incident) for item in items if is_counted(item)}


def is_counted(item: Item) -> bool:
    return item.incident not in (None, "limit") and item.incident_certainty != "weak"


def read_truth(bench: Path, name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((bench / name / "truth.json").read_text())
    return truth


def test_incidents_of_bfcl_v4_are_those_of_the_truth(bench: Path) -> None:
    truth = read_truth(bench, "bfcl_api_errors")["v4_made"]
    items = read_bench_items(bench / "bfcl_api_errors" / "v4_made")
    for category, of_category in truth.items():
        expected = {
            name: item["class"]
            for name, item in of_category["items"].items()
            if item["infrastructure_error"]
        }
        found = [item for item in items if item.category == category]
        assert list_counted_kinds(found) == expected
        assert {item.id: item.official for item in found} == {
            name: item["official_pass"] for name, item in of_category["items"].items()
        }
        weak = {item.id for item in found if item.incident_certainty == "weak"}
        assert weak == {
            name
            for name, item in of_category["items"].items()
            if item["class"].startswith("empty_reply")
        }


def test_incidents_of_bfcl_v3_are_those_of_the_truth(bench: Path) -> None:
    truth = read_truth(bench, "bfcl_api_errors")["v3_ministral"]
    items = read_bench_items(bench / "bfcl_api_errors" / "v3_ministral")
    for category, of_category in truth.items():
        found = [item for item in items if item.category == category]
        assert list_counted_kinds(found) == dict.fromkeys(of_category["error_ids"], "unparsable")
        passing = [item for item in found if is_counted(item) and item.official]
        assert len(passing) == of_category["errors_passing"]


def test_incidents_of_bfcl_v1_are_those_of_the_truth(bench: Path) -> None:
    truth = read_truth(bench, "bfcl_api_errors")["v1_made"]["items"]
    items = read_bench_items(bench / "bfcl_api_errors" / "v1_made")
    expected = {
        f"relevance_{n}": each["class"] for n, each in truth.items() if each["infrastructure_error"]
    }
    assert list_counted_kinds(items) == expected


def test_incidents_of_tau_and_inspect_are_those_of_the_truth(bench: Path) -> None:
    folder = bench / "api_errors_other"
    truth = read_truth(bench, "api_errors_other")
    simulations = read_bench_items(folder / "tau2_made")
    found = {item.extra.metadata["simulation"] for item in simulations if is_counted(item)}
    assert found == set(truth["tau2_made"]["infrastructure_errors"])

    entries = list_counted_kinds(read_bench_items(folder / "tau_v1_made"))
    errors = truth["tau_v1_made"]["infrastructure_errors"]
    assert entries == {f"{task}_trial_{trial}": kind for task, trial, kind in errors}

    samples = read_bench_items(folder / "inspect_made")
    errors = truth["inspect_made"]["infrastructure_errors"]
    assert list_counted_kinds(samples) == {
        name: text.split(" ")[0] for name, text in errors.items()
    }
    others = {item.id: item.incident for item in samples if item.incident and not is_counted(item)}
    assert others == {"limit": "limit", "empty": "empty_reply"}


REAL_RUNS = ("tau_v1", "tau2", "inspect", "inspect_tau2")


@pytest.mark.parametrize("name", REAL_RUNS)
def test_real_conversations_have_no_incident_but_errors_of_their_own(
    bench: Path, name: str
) -> None:
    counted = [item for item in read_bench_items(bench / name) if is_counted(item)]
    # The made logs of `inspect` have a tool that raises an exception.
    own_errors = Counter(item.incident_text for item in counted)
    assert own_errors == (
        Counter({"ValueError('no such city')": 3}) if name == "inspect" else Counter()
    )


ZERO_TOKENS = {"input_token_count": 0, "output_token_count": 0, "latency": 0}
SOME_TOKENS = {"input_token_count": 80, "output_token_count": 12, "latency": 0.4}
NEAR_MISSES = [
    {"result": "Error: No function available for this request.", **SOME_TOKENS},
    {"result": "Error, not enough information provided.", **SOME_TOKENS},
    {"result": "Error", **SOME_TOKENS},
    {"result": "Error"},
    {"result": "error", **ZERO_TOKENS},
    {"result": 'Parsing error: {"args": {"x": 1}}', **SOME_TOKENS},
    {"result": "Parsing error: the call has no name", **ZERO_TOKENS},
    {"result": "Timeout: end_time=end_time", **ZERO_TOKENS},
    {"result": "None", **ZERO_TOKENS},
    {"result": "null"},
    {"result": '{"error": "no matching function"}', **ZERO_TOKENS},
    {"result": {"error": "no matching function"}, **ZERO_TOKENS},
    {"result": "I cannot help with that.", **ZERO_TOKENS},
    {"result": "Sorry, I am unable to do that.", **ZERO_TOKENS},
    {"result": "The rate limit of the API is 429 requests.", **SOME_TOKENS},
    {"result": "The log says: Error during inference: Connection error.", **SOME_TOKENS},
    {"result": "Internal error occurred.", **SOME_TOKENS},
    {"result": "Quota exceeded for disk usage", **SOME_TOKENS},
    {"result": [["Error during inference: x"]]},
    {"result": ["Error during inference: x"]},
    {"result": {"finishReason": "SAFETY"}, **SOME_TOKENS},
    {"result": "Error: Invalid JSON"},
    {"result": [{"report": '{"text": "Error during inference: timeout"}'}], **ZERO_TOKENS},
]


@pytest.mark.parametrize("record", NEAR_MISSES, ids=lambda record: str(record["result"])[:40])
def test_replies_of_bfcl_that_look_like_errors_stay_unmarked(record: dict[str, Any]) -> None:
    assert find_bfcl_incident(record) is None


@pytest.mark.parametrize("result", ["", [], None, "The model did not return any response."])
def test_empty_replies_of_bfcl_have_a_weak_mark(result: Any) -> None:
    incident = find_bfcl_incident({"result": result, **SOME_TOKENS})
    assert incident is not None
    assert (incident.kind, incident.certainty, incident.counts) == ("empty_reply", "weak", False)


def test_a_record_without_result_has_no_incident() -> None:
    assert find_bfcl_incident({"id": "simple_0"}) is None


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "unparsable"),
        ("OTHER", "unknown"),
        (7, "unknown"),
    ],
)
def test_finish_reason_of_a_google_candidate_gives_the_kind(reason: Any, kind: str) -> None:
    for result in (
        {"finishReason": reason},
        "Parsing error: " + json.dumps({"finishReason": reason}),
    ):
        incident = find_bfcl_incident({"result": result, **ZERO_TOKENS})
        assert incident is not None and incident.counts
        assert incident.kind == kind


@pytest.mark.parametrize(
    "reason", ["user_stop", "agent_stop", "agent_error", "user_error", "too_many_errors", None, 5]
)
def test_endings_of_tau2_that_are_results_have_no_incident(reason: Any) -> None:
    assert (
        find_simulation_incident(
            {"termination_reason": reason, "info": {"error": "Connection error."}}
        )
        is None
    )


@pytest.mark.parametrize(
    ("simulation", "kind", "counts"),
    [
        ({"termination_reason": "max_steps"}, "limit", False),
        ({"termination_reason": "timeout"}, "limit", False),
        ({"termination_reason": "context_window_exceeded"}, "context_length", True),
        ({"termination_reason": "infrastructure_error"}, "unknown", True),
        (
            {"termination_reason": "infrastructure_error", "info": {"error_type": "WorkerFailure"}},
            "harness",
            True,
        ),
        (
            {"termination_reason": "infrastructure_error", "info": {"error": "HTTP 503"}},
            "server",
            True,
        ),
        (
            {"termination_reason": "agent_error", "messages": [{"role": "assistant"}]},
            "empty_reply",
            False,
        ),
    ],
)
def test_endings_of_tau2_give_the_kind(simulation: dict[str, Any], kind: str, counts: bool) -> None:
    incident = find_simulation_incident(simulation)
    assert incident is not None
    assert (incident.kind, incident.counts) == (kind, counts)


def test_conversation_of_tau_v1_without_checks_is_a_limit_only_if_it_failed() -> None:
    at_limit = find_version1_incident({"reward": 0.0, "traj": [{}], "info": {"reward_info": None}})
    assert at_limit is not None and at_limit.kind == "limit"
    assert find_version1_incident({"reward": 1.0, "traj": [{}], "info": {}}) is None
    silent = [{"role": "assistant", "content": None}]
    empty = find_version1_incident(
        {"reward": 0.0, "traj": silent, "info": {"reward_info": {"reward": 0.0}}}
    )
    assert empty is not None and (empty.kind, empty.certainty) == ("empty_reply", "weak")
    assert (
        find_version1_incident(
            {"reward": 0.0, "traj": [{}], "info": {"reward_info": {"reward": 0.0}}}
        )
        is None
    )


def make_sample(stop_reason: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"output": {"choices": [{"message": message, "stop_reason": stop_reason}]}, **fields}


@pytest.mark.parametrize(
    ("sample", "kind", "where"),
    [
        (make_sample("content_filter", "Sorry"), "content_filter", "output.stop_reason"),
        (make_sample("model_length", "too long"), "context_length", "output.stop_reason"),
        (make_sample("stop", "x", error={"message": "HTTP 401"}), "auth", "error"),
        (
            make_sample("stop", "x", error={"message": "", "traceback": "a\nConnectError: x"}),
            "connection",
            "error",
        ),
        ({"output": {"choices": [], "error": "Request timed out."}}, "timeout", "output.error"),
        (make_sample("stop", "x", limit={"type": "token", "limit": 10}), "limit", "limit"),
        (make_sample("stop", [{"type": "reasoning", "reasoning": "hm"}]), "empty_reply", "output"),
    ],
)
def test_fields_of_an_inspect_sample_give_the_kind(
    sample: dict[str, Any], kind: str, where: str
) -> None:
    incident = find_inspect_incident(sample)
    assert incident is not None
    assert (incident.kind, incident.where) == (kind, where)


@pytest.mark.parametrize(
    "sample",
    [
        make_sample("stop", "Error: Connection error."),
        make_sample("max_tokens", "The answer is"),
        make_sample("tool_calls", "", messages=[{"role": "tool", "error": {"type": "timeout"}}])
        | {
            "output": {
                "choices": [
                    {"message": {"tool_calls": [{"function": "f"}]}, "stop_reason": "tool_calls"}
                ]
            }
        },
        {"output": {"choices": []}},
        {"output": None},
        {},
    ],
)
def test_inspect_samples_with_an_answer_have_no_incident(sample: dict[str, Any]) -> None:
    assert find_inspect_incident(sample) is None


def test_item_of_a_failed_request_does_not_blame_the_model(bench: Path) -> None:
    items = read_bench_items(bench / "bfcl_api_errors" / "v4_made")
    failed = [item for item in items if is_counted(item)]
    assert {item.rule for item in failed if item.category == "simple_python"} == {False}
    assert {item.rule for item in failed if item.category == "irrelevance"} == {True}
    for item in failed:
        assert item.incident is not None and item.first_difference is not None
        assert item.first_difference.startswith(
            f"{describe_incident(item.incident, 'rule')} (Error during inference"
        )
        assert item.incident_text is not None and item.incident_text.startswith(
            "Error during inference:"
        )
        assert item.rule_error_type is None
        assert item.predicted == []
        assert all(message.role != "assistant" for message in item.messages)
        assert item.messages[-1].content == item.incident_text
        for verdict in item.verdicts:
            if verdict.source == "rule":
                assert verdict.rationale == item.first_difference


CASES = Path(__file__).parents[1] / "cases"


def test_case_of_a_model_that_was_never_reached(bench: Path) -> None:
    found = discover([CASES / "bfcl/03-inference-errors"], data=[bench / "bfcl_v4/data"])
    assert len(found.plans) == 2
    for plan in found.plans:
        items = {item.id: item for item in read_items(plan) if isinstance(item, Item)}
        assert list_counted_kinds(list(items.values())) == {
            "simple_python_0": "connection",
            "simple_python_2": "rate_limit",
            "irrelevance_0": "connection",
            "irrelevance_1": "connection",
        }
        assert {name: item.official for name, item in items.items() if is_counted(item)} == {
            "simple_python_0": False,
            "simple_python_2": False,
            "irrelevance_0": True,
            "irrelevance_1": True,
        }
        texts = [
            items[name].first_difference or "" for name in ("simple_python_0", "irrelevance_0")
        ]
        assert all("connection" in text and "list of calls" not in text for text in texts)


def test_case_of_inspect_errors_and_limits() -> None:
    items = read_items_by_id(CASES / "inspect/17-errors-limits")
    found = {name: (item.incident, item.official) for name, item in items.items() if item.incident}
    assert found == {
        "err-scored": ("unknown", True),
        "err-unscored": ("harness", None),
        "limit": ("limit", False),
    }


def test_equal_replies_of_several_runs_are_failures_only_without_tokens(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    name = "gorilla_openfunctions_v1_test_relevance"
    question = {
        "question": "What is the area?",
        "function": {"name": "area", "parameters": {"type": "dict"}},
    }
    (data / f"{name}.json").write_text(json.dumps(question))
    for model, tokens in {
        "a": SOME_TOKENS,
        "b": ZERO_TOKENS,
        "c": SOME_TOKENS,
        "d": ZERO_TOKENS,
    }.items():
        folder = tmp_path / "result" / f"gemini-{model}"
        folder.mkdir(parents=True)
        (folder / f"{name}_result.json").write_text(
            json.dumps({"idx": 0, "result": "Error", **tokens})
        )

    found = discover([tmp_path / "result"], data=[data])
    items = {
        plan.run.model: item
        for plan in found.plans
        for item in read_items(plan)
        if isinstance(item, Item)
    }

    assert {model: item.incident for model, item in items.items()} == {
        "gemini-a": None,
        "gemini-b": "unknown",
        "gemini-c": None,
        "gemini-d": "unknown",
    }
    assert items["gemini-c"].first_difference is None
    assert items["gemini-d"].first_difference == f"{describe_incident('unknown', 'rule')} (Error)"


@pytest.mark.parametrize(
    ("line", "kind", "where"),
    [
        ({"error": "Request timed out."}, "timeout", "error"),
        ({"error": {"message": "Provider returned error", "code": 429}}, "rate_limit", "error"),
        (
            {"messages": [{"role": "assistant", "content": "Tur"}], "error": {"code": 503}},
            "server",
            "error",
        ),
        (
            {
                "messages": [{"role": "assistant", "content": "Tur"}],
                "error": "HTTP 503",
                "extra": {},
            },
            "server",
            "error",
        ),
        ({"response": {"error": {"message": "Overloaded"}}}, "server", "response.error"),
        (
            {"response": {"status_code": 400, "body": {"error": {"code": "x"}}}},
            "unknown",
            "response.body.error",
        ),
        ({"response": {"status_code": 503}}, "server", "response.status_code"),
        (
            {"response": {"choices": [{"finish_reason": "content_filter"}]}},
            "content_filter",
            "finish_reason",
        ),
        (
            {"choices": [{"finish_reason": "MALFORMED_FUNCTION_CALL"}]},
            "unparsable",
            "finish_reason",
        ),
        (
            {"messages": [], "finish_reason": "model_context_window_exceeded"},
            "context_length",
            "finish_reason",
        ),
        ({"messages": [{"role": "assistant", "content": ""}]}, "empty_reply", "messages"),
    ],
)
def test_fields_of_a_chat_log_give_the_kind(line: dict[str, Any], kind: str, where: str) -> None:
    incident = find_line_incident(line)
    assert incident is not None
    assert (incident.kind, incident.where) == (kind, where)


WRITTEN_ERROR = json.dumps(
    {"error": "Error code: 503", "error_message": "Traceback (most recent call last)"}
)


@pytest.mark.parametrize(
    "line",
    [
        {"messages": [{"role": "assistant", "content": "Error: Connection error."}], "error": None},
        {"messages": [{"role": "assistant", "content": WRITTEN_ERROR}]},
        {"messages": [{"role": "assistant", "content": "Turku"}], "error": "the town is wrong"},
        {"choices": [{"message": {"content": WRITTEN_ERROR}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": "The answer is"}, "finish_reason": "length"}]},
        {
            "choices": [
                {
                    "message": {"content": None, "refusal": "I cannot do that."},
                    "finish_reason": "stop",
                }
            ]
        },
        {
            "choices": [
                {"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"}
            ]
        },
        {"messages": [{"role": "assistant", "content": ""}], "predicted": [{"name": "f"}]},
        {"messages": [{"role": "user", "content": "Hello"}]},
        {"messages": [{"role": "user", "content": "Hello"}], "response": {"status_code": 200}},
    ],
)
def test_chat_logs_with_an_answer_have_no_incident(line: dict[str, Any]) -> None:
    assert find_line_incident(line) is None


def test_generic_judge_without_a_verdict_has_failed(tmp_path: Path) -> None:
    verdicts = [
        {"source": "judge", "value": None, "by": "oak"},
        {
            "source": "official",
            "value": None,
            "criterion": "style",
            "failure": "the scorer crashed",
        },
        {"source": "official", "value": None, "criterion": "length"},
        {"source": "rule", "value": True},
    ]
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    records = [{"id": "a", "category": "x", "messages": messages, "verdicts": verdicts}]
    records.append({"id": "b", "category": "x", "messages": messages, "verdicts": verdicts[2:]})
    (tmp_path / "made.jsonl").write_text("\n".join(map(json.dumps, records)))

    first, second = read_bench_items(tmp_path)

    assert [verdict.failure for verdict in first.verdicts] == [
        "the judge gave no verdict",
        "the scorer crashed",
        None,
        None,
    ]
    assert (first.flags, second.flags) == (["judge_failed"], [])
    assert (first.incident, first.rule) == (None, True)


def copy_sample(samples: Path, name: str, place: Path) -> Path:
    shutil.copytree(samples / name, place / name)
    return place / name


def change_json_lines(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        change(record)
    path.write_text("\n".join(map(json.dumps, records)))


def read_items_by_id(folder: Path) -> dict[str, Item]:
    return {item.id: item for item in read_bench_items(folder)}


def test_scores_of_complexfuncbench_judges_that_failed_are_no_scores(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_sample(samples, "complexfuncbench", tmp_path)

    def change(record: dict[str, Any]) -> None:
        if record["id"] == "Hotels-0":
            record["resp_eval"]["complete"] = {"score": -1, "reason": "Completeness Eval failed."}
        if record["id"] == "Hotels-1":
            score = {"score": -2, "reason": "Do not generate response successfully."}
            record["resp_eval"] = {"complete": score, "correct": score}
        if record["id"] == "Flights-0":
            record["message"] = {"error_type": "unknown_error", "content": "Error code: 429"}

    change_json_lines(folder / "result/maple-8b/sample.jsonl", change)
    items = read_items_by_id(folder)

    failed = [verdict for verdict in items["Hotels-0"].verdicts if verdict.failure]
    assert [(verdict.criterion, verdict.value) for verdict in failed] == [("completeness", None)]
    assert (
        failed[0].failure
        == "the judge gave no usable reply in 10 attempts (Completeness Eval failed.)"
    )
    assert (items["Hotels-0"].flags, items["Hotels-0"].incident) == (["judge_failed"], None)
    assert items["Hotels-1"].flags == ["judge_failed"]
    assert (items["Hotels-1"].incident, items["Hotels-1"].incident_certainty) == (
        "empty_reply",
        "weak",
    )
    assert (items["Flights-0"].incident, items["Flights-0"].official) == ("rate_limit", False)
    assert items["Car-Rental-0"].flags == []


def test_log_of_complexfuncbench_without_outcome_is_an_incident_only_without_a_record(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_sample(samples, "complexfuncbench", tmp_path)
    result = folder / "result/maple-8b/sample.jsonl"
    kept = [line for line in result.read_text().splitlines() if '"Hotels-' not in line]
    result.write_text("\n".join(kept))
    log = folder / "result/maple-8b/sample/logs/Hotels-1.log"
    log.write_text(log.read_text().partition("Message:")[0].rpartition("\n")[0])

    items = read_items_by_id(folder)

    # The log has the outcome: only the record is missing.
    assert items["Hotels-0"].incident is None
    assert (items["Hotels-1"].incident, items["Hotels-1"].incident_certainty) == ("unknown", "rule")


def test_reply_of_hammerbench_judge_that_cannot_be_read_is_no_verdict(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_sample(samples, "hammerbench", tmp_path)
    judged = folder / "legacy/en/maple-8b/HammerBench_mQmA"
    replies = json.loads((judged / "LLM_check_response.json").read_text())
    replies[0] = "I would rather not say."
    (judged / "LLM_check_response.json").write_text(json.dumps(replies))

    items = [item for item in read_bench_items(judged) if item.judge is not None or item.flags]

    assert [item.flags for item in items] == [["judge_failed"], [], [], []]
    failed = [verdict for verdict in items[0].verdicts if verdict.failure]
    assert {verdict.criterion for verdict in failed} == {"correct", "args_ok_llm", "equivalent"}
    assert all(verdict.value is None for verdict in failed)
    assert items[0].judge is None
    assert items[0].official is not None


def test_reply_of_confetti_judges_that_cannot_be_read_is_no_verdict(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_sample(samples, "confetti", tmp_path)

    def change(record: dict[str, Any]) -> None:
        if record["id"].endswith("_0"):
            record |= {
                "hallucinated_parameters": None,
                "predicted_dialog_acts": None,
                "response": "Sure!",
            }

    for name in ("parameter_hallucination_judge.json", "dialog_act_judge.json"):
        change_json_lines(folder / "score/maple-8b" / name, change)
    items = read_items_by_id(folder)

    for name in ("conversationsclean_0", "dialogacts_0"):
        (failed,) = [verdict for verdict in items[name].verdicts if verdict.failure]
        assert (failed.value, failed.failure) == (None, "the judge's reply cannot be read: Sure!")
        assert items[name].flags == ["judge_failed"]
    assert items["dialogacts_0"].rule is None
    assert items["conversationsclean_1"].flags == items["dialogacts_1"].flags == []


def test_failed_request_of_confetti_has_no_call(samples: Path, tmp_path: Path) -> None:
    folder = copy_sample(samples, "confetti", tmp_path)

    def change(record: dict[str, Any]) -> None:
        if record["id"] == "conversationsclean_0":
            record["result"] = "Error during inference: Garden_find_plants: Request timed out."

    change_json_lines(folder / "result/maple-8b/BFCL_v2_conversationsclean_result.json", change)
    item = read_items_by_id(folder)["conversationsclean_0"]

    assert (item.incident, item.predicted) == ("timeout", [])
    assert {pair.state for pair in item.pairs} == {"-"}
    assert (item.messages[-1].role, item.messages[-1].content) == ("log", item.incident_text)


@pytest.mark.parametrize(
    ("exception", "incident", "flags"),
    [
        (
            {"exception_type": "ReadTimeout", "exception_message": "no reply"},
            ("timeout", "marked"),
            [],
        ),
        (
            {"exception_type": "AgentTimeoutError", "exception_message": "900 s"},
            ("limit", "marked"),
            [],
        ),
        (
            {"exception_type": "VerifierTimeoutError", "exception_message": "60 s"},
            (None, None),
            ["judge_failed"],
        ),
        (None, (None, None), []),
    ],
)
def test_exception_of_a_harbor_trial_gives_the_kind(
    samples: Path, tmp_path: Path, exception: Any, incident: Any, flags: list[str]
) -> None:
    folder = copy_sample(samples, "atif", tmp_path)
    (path,) = folder.rglob("tidy-logs__bbbbbb2/result.json")
    result = json.loads(path.read_text())
    path.write_text(json.dumps({**result, "exception_info": exception}))

    item = read_items_by_id(folder)["tidy-logs__bbbbbb2"]

    assert ((item.incident, item.incident_certainty), item.flags) == (incident, flags)
    failed = [verdict for verdict in item.verdicts if verdict.failure]
    assert [(verdict.source, verdict.failure) for verdict in failed] == [
        ("official", "VerifierTimeoutError: 60 s") for _ in flags
    ]


def test_exception_in_a_step_of_a_harbor_trial_is_found(samples: Path, tmp_path: Path) -> None:
    folder = copy_sample(samples, "atif", tmp_path)
    (path,) = folder.rglob("tidy-logs__bbbbbb2/result.json")
    exception = {"exception_type": "RuntimeError", "exception_message": "Error code: 503"}
    steps = [
        {"step_name": "one", "exception_info": None},
        {"step_name": "two", "exception_info": exception},
    ]
    path.write_text(
        json.dumps({**json.loads(path.read_text()), "exception_info": None, "step_results": steps})
    )

    assert read_items_by_id(folder)["tidy-logs__bbbbbb2"].incident == "server"


def test_empty_result_of_acebench_has_a_weak_mark(samples: Path, tmp_path: Path) -> None:
    folder = copy_sample(samples, "acebench", tmp_path)
    path = folder / "result_all/result_en/maple-8b/data_special_irrelevant_result.json"
    first_id = json.loads(path.read_text().splitlines()[0])["id"]

    def change(record: dict[str, Any]) -> None:
        if record["id"] == first_id:
            record["result"] = ""

    change_json_lines(path, change)
    marked = [item for item in read_bench_items(folder) if item.incident]
    assert [(item.id, item.incident, item.incident_certainty) for item in marked] == [
        (first_id, "empty_reply", "weak"),
    ]


def write_inspect_log(folder: Path, samples: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    fields = {
        "task": "made",
        "task_id": "t1",
        "model": "mock/model",
        "scorers": [{"name": "match"}],
    }
    log = {
        "version": 2,
        "status": "success",
        "eval": fields,
        "results": {"scores": []},
        "samples": samples,
    }
    path = folder / "2026-01-01T00-00-00-00-00_made_t1.json"
    path.write_text(json.dumps(log))
    return path


def span(name: str) -> dict[str, Any]:
    return {"event": "span_begin", "id": name, "type": name, "name": name}


def test_inspect_scorer_that_failed_leaves_the_answer_without_an_incident(tmp_path: Path) -> None:
    error = {"message": "RuntimeError('the grader answered 500')", "traceback": ""}
    ended = [{"event": "span_end", "id": "scorers"}, {"event": "error", "error": error}]
    answered = make_sample(
        "stop", "Turku", epoch=1, input="Where?", target="Turku", scores={}, error=error
    )
    samples = [
        {
            **answered,
            "id": "in scorer",
            "events": [span("solvers"), span("scorers"), span("scorer"), *ended],
        },
        {**answered, "id": "in solver", "events": [span("solvers"), span("solver"), *ended]},
        # With `score_on_error`, the scorers run after the error.
        {
            **answered,
            "id": "scored later",
            "events": [span("solvers"), *ended, span("scorers"), span("scorer")],
        },
        {**answered, "id": "without events"},
    ]
    write_inspect_log(tmp_path / "logs", samples)
    items = read_items_by_id(tmp_path)

    assert {name: item.incident for name, item in items.items()} == {
        "in scorer": None,
        "in solver": "server",
        "scored later": "server",
        "without events": "server",
    }
    assert [item.flags for item in items.values()] == [["judge_failed"], [], [], []]
    (failed,) = [verdict for verdict in items["in scorer"].verdicts if verdict.failure]
    assert (failed.value, failed.failure) == (None, "RuntimeError('the grader answered 500')")


def test_inspect_score_without_a_value_is_a_failure_of_the_scorer(tmp_path: Path) -> None:
    answered = make_sample("stop", "Turku", epoch=1, input="Where?", target="Turku")
    scores = [
        {"match": {"value": None, "explanation": "no grade found"}},
        {"match": {"value": "C"}, "style": {"value": None, "reason": "parse_error"}},
        {"match": {"value": "I"}, "style": {"value": 0.0}},
    ]
    samples = [
        {**answered, "id": f"s{number}", "scores": each} for number, each in enumerate(scores)
    ]
    path = write_inspect_log(tmp_path / "logs", samples)
    path.write_text(path.read_text().replace('"value": null', '"value": NaN'))
    items = read_bench_items(tmp_path)

    assert [item.flags for item in items] == [["judge_failed"], ["judge_failed"], []]
    assert [item.official for item in items] == [None, True, False]
    failures = [verdict.failure for item in items for verdict in item.verdicts if verdict.failure]
    assert failures == [
        "the score has no value: no grade found",
        "the score has no value: parse_error",
    ]
