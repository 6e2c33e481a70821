"""In formats whose scores come from judges, a reply that looks like an error message of a service
has an issue, because nobody can tell from the file whether it is an answer.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.dialects.to_item import find_last_reply
from fcreview.importers.registry import discover
from fcreview.model.item import Item
from tests.importers.run_reading import read_runs

ERROR = "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached"
MESSAGES = [{"role": "user", "content": "Book a table."}]
MAPPING = """
[map]
version = 1
benchmark = "desk"
[[source]]
files = "rows.jsonl"
[item]
id = "id"
messages = "messages"
"""


def read_items_by_id(folder: Path) -> dict[str, Item]:
    items, _ = read_runs(discover([folder]).plans)
    return {item.id: item for item in items}


def has_short_reply(item: Item) -> bool:
    reply = find_last_reply(item)
    return item.incident is None and reply is not None and len(reply) > 4


@pytest.mark.parametrize(
    "sample",
    [
        "nemo_gym/library_desk",
        "verifiers/bakery--maple-8b--bash--7c1d09aa",
        "verifiers/outputs",
        "evalscope/repeats",
    ],
)
def test_reply_that_looks_like_an_error_message_is_an_issue(
    samples: Path, tmp_path: Path, sample: str
) -> None:
    folder = Path(shutil.copytree(samples / sample, tmp_path / "run"))
    item = next(filter(has_short_reply, read_items_by_id(folder).values()))
    reply = find_last_reply(item)
    for path in folder.rglob("*.jsonl"):
        text = path.read_text()
        path.write_text(text.replace(f'": {json.dumps(reply)}', f'": {json.dumps(ERROR)}'))

    changed = read_items_by_id(folder)[item.id]
    assert (changed.incident, changed.official) == (None, item.official)
    (issue,) = [issue for issue in changed.issues if "looks like an error" in issue.what]
    assert issue.line is not None
    assert "rate limit" in issue.what


def read_mapped(folder: Path, row: dict[str, Any], more: str = "") -> Item:
    (folder / "fcreview-map.toml").write_text(MAPPING + more)
    (folder / "rows.jsonl").write_text(json.dumps({"id": "a"} | row) + "\n")
    return read_items_by_id(folder)["a"]


@pytest.mark.parametrize("field", ["message", "response"])
def test_mapped_reply_that_looks_like_an_error_message_is_an_issue(
    tmp_path: Path, field: str
) -> None:
    if field == "message":
        reply = {"role": "assistant", "content": ERROR}
        item = read_mapped(tmp_path, {"messages": [*MESSAGES, reply]})
    else:
        row = {"messages": MESSAGES, "response": ERROR}
        item = read_mapped(tmp_path, row, 'response = "response"\n')
    assert item.incident is None
    (issue,) = item.issues
    assert f"the answer (item.{field}{'s' * (field == 'message')})" in issue.what


@pytest.mark.parametrize(
    ("messages", "is_weak"),
    [
        ([], True),
        (MESSAGES, True),
        ([*MESSAGES, {"role": "assistant", "content": ""}], True),
        ([*MESSAGES, {"role": "assistant", "content": "Done."}], False),
        ([{"role": "assistant", "content": "Hello?"}, *MESSAGES], False),
    ],
)
def test_mapped_conversation_without_a_reply_has_the_weak_mark(
    tmp_path: Path, messages: list[Any], is_weak: bool
) -> None:
    item = read_mapped(tmp_path, {"messages": messages})
    wanted = ("empty_reply", "weak") if is_weak else (None, None)
    assert (item.incident, item.incident_certainty) == wanted


def test_mapped_call_without_a_text_is_an_answer(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    reply = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert read_mapped(tmp_path, {"messages": [*MESSAGES, reply]}).incident is None
