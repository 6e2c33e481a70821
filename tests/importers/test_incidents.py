"""Failed requests are found in every format, and replies of models are never taken for one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.incidents import find_incident as find_bfcl_incident
from fcreview.importers.inspect.incidents import find_incident as find_inspect_incident
from fcreview.importers.registry import discover, read_items
from fcreview.importers.tau.incidents import find_simulation_incident, find_version1_incident
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
        expected = {name: item["class"] for name, item in of_category["items"].items() if item["infrastructure_error"]}
        found = [item for item in items if item.category == category]
        assert list_counted_kinds(found) == expected
        assert {item.id: item.official for item in found} == {
            name: item["official_pass"] for name, item in of_category["items"].items()
        }
        weak = {item.id for item in found if item.incident_certainty == "weak"}
        assert weak == {name for name, item in of_category["items"].items() if item["class"].startswith("empty_reply")}


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
    expected = {f"relevance_{n}": each["class"] for n, each in truth.items() if each["infrastructure_error"]}
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
    assert list_counted_kinds(samples) == {name: text.split(" ")[0] for name, text in errors.items()}
    others = {item.id: item.incident for item in samples if item.incident and not is_counted(item)}
    assert others == {"limit": "limit", "empty": "empty_reply"}


REAL_RUNS = ("tau_v1", "tau2", "inspect", "inspect_tau2")


@pytest.mark.parametrize("name", REAL_RUNS)
def test_real_conversations_have_no_incident_but_errors_of_their_own(bench: Path, name: str) -> None:
    counted = [item for item in read_bench_items(bench / name) if is_counted(item)]
    # The made logs of `inspect` have a tool that raises an exception.
    own_errors = Counter(item.incident_text for item in counted)
    assert own_errors == (Counter({"ValueError('no such city')": 3}) if name == "inspect" else Counter())


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
    [("SAFETY", "content_filter"), ("MALFORMED_FUNCTION_CALL", "unparsable"), ("OTHER", "unknown"), (7, "unknown")],
)
def test_finish_reason_of_a_google_candidate_gives_the_kind(reason: Any, kind: str) -> None:
    for result in ({"finishReason": reason}, "Parsing error: " + json.dumps({"finishReason": reason})):
        incident = find_bfcl_incident({"result": result, **ZERO_TOKENS})
        assert incident is not None and incident.counts
        assert incident.kind == kind


@pytest.mark.parametrize("reason", ["user_stop", "agent_stop", "agent_error", "user_error", "too_many_errors", None, 5])
def test_endings_of_tau2_that_are_results_have_no_incident(reason: Any) -> None:
    assert find_simulation_incident({"termination_reason": reason, "info": {"error": "Connection error."}}) is None


@pytest.mark.parametrize(
    ("simulation", "kind", "counts"),
    [
        ({"termination_reason": "max_steps"}, "limit", False),
        ({"termination_reason": "timeout"}, "limit", False),
        ({"termination_reason": "context_window_exceeded"}, "context_length", True),
        ({"termination_reason": "infrastructure_error"}, "unknown", True),
        ({"termination_reason": "infrastructure_error", "info": {"error_type": "WorkerFailure"}}, "harness", True),
        ({"termination_reason": "infrastructure_error", "info": {"error": "HTTP 503"}}, "server", True),
        ({"termination_reason": "agent_error", "messages": [{"role": "assistant"}]}, "empty_reply", False),
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
    assert find_version1_incident({"reward": 0.0, "traj": [{}], "info": {"reward_info": {"reward": 0.0}}}) is None


def make_sample(stop_reason: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"output": {"choices": [{"message": message, "stop_reason": stop_reason}]}, **fields}


@pytest.mark.parametrize(
    ("sample", "kind", "where"),
    [
        (make_sample("content_filter", "Sorry"), "content_filter", "output.stop_reason"),
        (make_sample("model_length", "too long"), "context_length", "output.stop_reason"),
        (make_sample("stop", "x", error={"message": "HTTP 401"}), "auth", "error"),
        (make_sample("stop", "x", error={"message": "", "traceback": "a\nConnectError: x"}), "connection", "error"),
        ({"output": {"choices": [], "error": "Request timed out."}}, "timeout", "output.error"),
        (make_sample("stop", "x", limit={"type": "token", "limit": 10}), "limit", "limit"),
        (make_sample("stop", [{"type": "reasoning", "reasoning": "hm"}]), "empty_reply", "output"),
    ],
)
def test_fields_of_an_inspect_sample_give_the_kind(sample: dict[str, Any], kind: str, where: str) -> None:
    incident = find_inspect_incident(sample)
    assert incident is not None
    assert (incident.kind, incident.where) == (kind, where)


@pytest.mark.parametrize(
    "sample",
    [
        make_sample("stop", "Error: Connection error."),
        make_sample("max_tokens", "The answer is"),
        make_sample("tool_calls", "", messages=[{"role": "tool", "error": {"type": "timeout"}}])
        | {"output": {"choices": [{"message": {"tool_calls": [{"function": "f"}]}, "stop_reason": "tool_calls"}]}},
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
        assert item.first_difference is not None and item.first_difference.startswith("no answer of the model: ")
        assert item.incident_text is not None and item.incident_text.startswith("Error during inference:")
        assert item.rule_error_type is None
        assert item.predicted == []
        assert all(message.role != "assistant" for message in item.messages)
        assert item.messages[-1].content == item.incident_text
        for verdict in item.verdicts:
            if verdict.source == "rule":
                assert verdict.rationale == item.first_difference


def test_equal_replies_of_several_runs_are_failures_only_without_tokens(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    name = "gorilla_openfunctions_v1_test_relevance"
    question = {"question": "What is the area?", "function": {"name": "area", "parameters": {"type": "dict"}}}
    (data / f"{name}.json").write_text(json.dumps(question))
    for model, tokens in {"a": SOME_TOKENS, "b": ZERO_TOKENS, "c": SOME_TOKENS, "d": ZERO_TOKENS}.items():
        folder = tmp_path / "result" / f"gemini-{model}"
        folder.mkdir(parents=True)
        (folder / f"{name}_result.json").write_text(json.dumps({"idx": 0, "result": "Error", **tokens}))

    found = discover([tmp_path / "result"], data=[data])
    items = {plan.run.model: item for plan in found.plans for item in read_items(plan) if isinstance(item, Item)}

    assert {model: item.incident for model, item in items.items()} == {
        "gemini-a": None, "gemini-b": "unknown", "gemini-c": None, "gemini-d": "unknown",
    }  # fmt: skip
    assert items["gemini-c"].first_difference is None
    assert items["gemini-d"].first_difference == "no answer of the model: Error"
