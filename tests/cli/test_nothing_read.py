"""A run of which nothing can be read fails with exit code 1, and what is left out or has a wrong
type is named.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.common import budgets
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.bombs.generic_bombs import write_generic
from tests.bombs.inspect_bombs import make_inspect_sample, write_eval
from tests.cli.test_barriers import write_trajectory
from tests.importers.tau.test_damage import make_run

Cli = Callable[..., Any]


def make_eval() -> bytes:
    """Return an Inspect log whose header is not its first member, so that it is read by the
    archive's directory.
    """
    content = io.BytesIO()
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": "task", "model": "model", "dataset": {}},
    }
    sample = make_inspect_sample([{"role": "assistant", "content": "answer"}])
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("samples/s1_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header))
    return content.getvalue()


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def encrypt(content: bytes) -> bytes:
    """Set the flag of encryption of each member, in the directory and before the members."""
    changed = bytearray(content)
    for signature, flag_offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        start = changed.find(signature)
        while start >= 0:
            changed[start + flag_offset] |= 1
            start = changed.find(signature, start + 1)
    return bytes(changed)


def damage_header(content: bytes) -> bytes:
    return content.replace(b'"eval"', b'"evil"')


@pytest.mark.parametrize("damage", [cut, encrypt, damage_header])
def test_damaged_log_fails_beside_a_healthy_run(
    damage: Callable[[bytes], bytes], tmp_path: Path, cli: Cli
) -> None:
    write_trajectory(tmp_path / "runs" / "good.trajectory.json")
    (tmp_path / "runs" / "bad.eval").write_bytes(damage(make_eval()))

    done = cli("import", tmp_path / "runs", "--json")
    statuses = [row["status"] for row in done.objects if row["kind"] == "run"]
    assert sorted(statuses) == ["failed", "imported"]
    assert done.code == 1
    errors = [
        row["what"] for row in done.objects if row["kind"] == "issue" and row["severity"] == "error"
    ]
    assert any("was not imported" in error for error in errors)

    items = cli("items", tmp_path / "runs", "--ids")
    assert items.code == 0 and len(items.out.splitlines()) == 1
    assert "was not imported" in items.err


@pytest.mark.parametrize("damage", [cut, encrypt, damage_header])
def test_damaged_log_alone_ends_every_command_with_exit_code_1(
    damage: Callable[[bytes], bytes], tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "bad.eval").write_bytes(damage(make_eval()))
    for command in ("import", "items", "report"):
        assert cli(command, tmp_path / "runs").code == 1


def test_truncated_result_file_of_tau_fails(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "runs").mkdir()
    text = json.dumps(make_run())
    (tmp_path / "runs" / "run.json").write_text(text[: text.index('"simulations"') + 30])
    assert cli("import", tmp_path / "runs").code == 1


@pytest.mark.parametrize(
    "name", ["SAMPLES/s1_epoch_1.json", "samples\\s1_epoch_1.json", "other/s1_epoch_1.json"]
)
def test_sample_outside_of_its_folder_is_named(name: str, tmp_path: Path) -> None:
    write_eval(tmp_path, make_inspect_sample([{"role": "assistant", "content": "answer"}]))
    with zipfile.ZipFile(tmp_path / "log.eval", "a") as archive:
        archive.writestr(name, json.dumps(make_inspect_sample([])))

    items, issues = read_run(tmp_path, "inspect")
    assert len(items) == 1
    assert [issue.severity for issue in issues if name in issue.what] == ["error"]


def read_run(folder: Path, importer: str) -> tuple[list[Item], list[ImportIssue]]:
    (plan,) = discover([folder], format=importer).plans
    records = list(read_items(plan))
    items = [record for record in records if isinstance(record, Item)]
    issues = [record for record in records if isinstance(record, ImportIssue)]
    for item in items:
        issues += item.issues
    return items, issues


@pytest.mark.parametrize(
    ("extra", "official"),
    [
        ({"reward": [1]}, None),
        ({"reward": "1"}, None),
        ({"reward": True}, True),
        ({"rewards": [1]}, None),
        ([{"reward": 1}], None),
        ({"fcreview": {"official": "true"}}, None),
    ],
    ids=["list", "text", "boolean", "list of rewards", "extra is a list", "verdict is a text"],
)
def test_reward_of_a_wrong_type_is_named(extra: Any, official: bool | None, tmp_path: Path) -> None:
    path = tmp_path / "item.trajectory.json"
    write_trajectory(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extra": extra}))

    (item,), issues = read_run(tmp_path, "atif")
    assert item.official is official
    assert any("reward" in issue.what or "verdict" in issue.what for issue in issues)


@pytest.mark.parametrize("value", ["yes", 2, [1], {"a": 1}])
def test_wrong_type_of_r_actions_is_named(value: Any, tmp_path: Path) -> None:
    entry = {
        "task_id": 0,
        "reward": 1.0,
        "info": {
            "task": {"actions": [], "outputs": []},
            "reward_info": {"reward": 1.0, "info": {"r_actions": value}},
        },
        "traj": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        "trial": 0,
    }
    (tmp_path / "run.json").write_text(json.dumps([entry]))

    _, issues = read_run(tmp_path, "tau")
    assert any("r_actions is" in issue.what for issue in issues)


@pytest.mark.parametrize("alternatives", [{"any_of": "x"}, {"any_of": ["x"], "optinal": True}])
def test_malformed_alternatives_of_a_golden_argument_are_named(
    alternatives: Any, tmp_path: Path
) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": "x"}'}}
    messages = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    golden = [{"name": "f", "arguments": {"a": alternatives}}]
    write_generic(tmp_path, {"id": "item", "messages": messages, "golden": golden})

    _, issues = read_run(tmp_path, "generic")
    assert any("any_of" in issue.what for issue in issues)


def test_member_above_the_budget_is_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = make_inspect_sample([{"role": "assistant", "content": "x" * (6 << 20)}])
    small = make_inspect_sample([{"role": "assistant", "content": "answer"}]) | {"id": "s2"}
    write_eval(tmp_path, large, small)
    monkeypatch.setattr(budgets, "MAX_MEMBER_BYTES", 5 << 20)

    items, issues = read_run(tmp_path, "inspect")
    assert len(items) == 1
    assert any("it has more than 5 MB after decompression" in issue.what for issue in issues)
