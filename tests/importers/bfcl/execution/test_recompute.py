"""Replies of multi-turn items become call texts as in the official handlers."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.importers.bfcl.decoders.models import find_model_decoder
from fcreview.importers.bfcl.execution.recompute import decode_call_texts
from fcreview.model.item import Run
from fcreview.run_plan import RunPlan


@pytest.mark.parametrize(
    ("model", "reply", "expected"),
    [
        ("gpt-4o-FC", [{"cd": '{"folder": "a"}'}, {"ls": "{}"}], ["cd(folder='a')", "ls()"]),
        ("gpt-4o-FC", [{"f": '{"a": [1, null], "b": {}}'}], ["f(a=[1, None],b={})"]),
        ("gpt-4o-FC", [{"cd": "[1]"}], []),
        ("gpt-4o-FC", "Done.", []),
        ("gpt-4o", "[cd(folder='a'), ls(a=True)]", ["cd(folder='a')", "ls(a=True)"]),
        ("gpt-4o", "[f(a={'b': 1}, c=x)]", ["f(a={'b': 1}, c='x')"]),
        # An object of objects is written as a call, and an empty object stops the decoding.
        ("gpt-4o", "[f(a={'g': {'b': 1}})]", ["f(a=g(b=1))"]),
        ("gpt-4o", "[f(a={})]", []),
        ("gpt-4o", "I listed the files.", []),
        ("gpt-4o", None, []),
    ],
)
def test_reply_becomes_call_texts(model: str, reply: Any, expected: list[str]) -> None:
    decoder = find_model_decoder(model, "V4").decoder
    assert decode_call_texts(reply, decoder, "V4") == expected


@pytest.fixture
def plan() -> RunPlan:
    return RunPlan(Run("bfcl", "V4", "en", "m", "runs"), [])


def test_executed_run_stays_without_permission_but_not_the_reverse(plan: RunPlan) -> None:
    plain = plan.import_fingerprint
    plan.executes = True
    executed = plan.import_fingerprint
    assert executed != plain and not plan.has_same_settings(plain)
    plan.executes = False
    assert plan.has_same_settings(plain) and plan.has_same_settings(executed)
    plan.options = {"decoder": "HERMES"}
    assert not plan.has_same_settings(executed)
