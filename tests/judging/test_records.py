"""Lines of a judge's file: what is written is read again, and damage is found."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fcreview.judging.records import (
    ItemContent,
    JudgeExample,
    JudgeIncident,
    Judgement,
    JudgeSetup,
    RecordError,
    parse_record,
    serialize_record,
)
from fcreview.model.review import ItemKey

CONTENT = ItemContent(ItemKey("bfcl", "V4", "en", "maple", "simple", "a\u2028b"), "p", "g")
SETUP = JudgeSetup(
    source="endpoint",
    address="https://example.com",
    model="oak",
    criterion="correct",
    template="{{predicted}}",
    prompt_hash="12",
    parameters={"temperature": 0},
    examples=(JudgeExample(CONTENT, verdict=True),),
    time="2026-01-01T00:00:00Z",
)
VERDICT = Judgement(
    SETUP.id,
    content=CONTENT,
    criterion="correct",
    verdict=False,
    rationale="no",
    model="oak",
    prompt_hash="12",
    time="2026-01-01T00:00:00Z",
    tokens_in=5,
)
INCIDENT = JudgeIncident(
    SETUP.id, content=CONTENT, kind="timeout", text="late", time="2026-01-01T00:00:00Z"
)


@pytest.mark.parametrize("record", [SETUP, VERDICT, INCIDENT])
def test_record_is_read_as_it_was_written(record: JudgeSetup | Judgement | JudgeIncident) -> None:
    line = serialize_record(record)
    assert line.count(b"\n") == 1
    assert parse_record(line) == record


def test_changed_field_is_found() -> None:
    line = serialize_record(VERDICT).replace(b'"verdict":false', b'"verdict":true')
    with pytest.raises(RecordError, match="altered"):
        parse_record(line)


@pytest.mark.parametrize("change", [{"verdict": "pass"}, {"key": {}}, {"key": 1}, {"act": "sing"}])
def test_valid_hash_does_not_excuse_wrong_fields(change: dict[str, object]) -> None:
    from fcreview.model.json_value import json_hash

    content = json.loads(serialize_record(VERDICT)) | change
    del content["hash"]
    content["hash"] = json_hash(content, 8)
    with pytest.raises(RecordError):
        parse_record(json.dumps(content).encode())


def test_setup_is_identified_by_all_that_decides_the_question() -> None:
    assert replace(SETUP, time="later").id == SETUP.id
    for change in ({"model": "elm"}, {"template": "x"}, {"examples": ()}, {"parameters": {}}):
        assert replace(SETUP, **change).id != SETUP.id
    assert replace(SETUP, model="elm", template="x").describe_difference(SETUP) == "model, prompt"
