"""Write reviewed rewards and checks to the result files. The bytes of all other simulations stay
the same.

A review of the item sets the reward. A review of a part sets the part, its check, and the reward
that follows. The tasks are part of the result files, so golden answers cannot be corrected.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.common.writeback import CriterionKey, find_unrepresentable_reviews
from fcreview.importers.tau.checker import INFRASTRUCTURE_ERROR, OWN_FIELD, REWARD_PART_NAMES
from fcreview.importers.tau.leaderboard import get_reward
from fcreview.importers.tau.read import read_items
from fcreview.model.address import ITEM
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import REWARD_CHECKS, REWARD_PARTS
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
REWARD_KEY = (ITEM, "reward")
REVIEWED_MARK = {OWN_FIELD: "changed by reviews"}
"""Fields of `reward_info.info` that mark a reward as changed by reviews."""
CHECK_FIELDS = {
    "ACTION": ("action_checks", "action_match", "action_reward"),
    "COMMUNICATE": ("communicate_checks", "met", None),
    "ENV_ASSERTION": ("env_assertions", "met", "reward"),
    "NL_ASSERTION": ("nl_assertions", "met", None),
}
"""Part of the reward -> name of its list of checks, and the fields of a check with its verdict
and its reward.
"""
_VERSION1_PARTS = {"db": "r_actions", "communicate": "r_outputs"}
_INDENT = re.compile(rb"\n( *)")


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the files with the reviewed rewards and checks, and the reviews that no file can
    represent.
    """
    changed = {
        item.id: item
        for item in items
        if any(_is_representable(item, key) for key in item.overrides)
    }
    yield from find_unrepresentable_reviews(items, _is_representable)
    edits: defaultdict[Path, list[tuple[int, int, ScoredItem]]] = defaultdict(list)
    for item in read_items(plan) if changed else ():
        if isinstance(item, Item) and item.id in changed:
            edits[Path(item.file)].append((item.offset, item.length, changed[item.id]))
    rewards: dict[str, float | None] = {}
    n_unwritten = 0
    for path, locations in edits.items():
        raw, end = read_file(path), 0
        pieces: list[bytes] = []
        for offset, length, scored in sorted(locations, key=lambda location: location[0]):
            old = raw[offset : offset + length]
            record = json.loads(old.decode("utf-8-sig", "surrogateescape"))
            if plan.run.generation == "v1":
                _write_reviews_to_version1_entry(record, scored)
            else:
                n_unwritten += _write_reviews_to_simulation(record, scored)
            rewards[str(record.get("id"))] = get_reward(scored)
            pieces += [raw[end:offset], _dump_with_layout_of(record, old)]
            end = offset + length
        yield RewrittenFile(path, b"".join([*pieces, raw[end:]]))
    if plan.importer_data is not None and plan.data and rewards:
        yield from _rewrite_index(plan.data[0], rewards)
    if n_unwritten:
        yield Unrepresentable(
            "verdicts on checks that the result file does not contain", n_unwritten
        )


def find_summary_files(plan: RunPlan) -> list[Path]:  # noqa: ARG001
    """Return no files, because no file contains metrics."""
    return []


def _is_representable(item: ScoredItem, criterion_key: CriterionKey) -> bool:
    if item.metadata.get("ended") == INFRASTRUCTURE_ERROR:
        return False
    if criterion_key in (ITEM_CORRECT, REWARD_KEY):
        return True
    value = item.overrides[criterion_key]
    target, criterion = criterion_key
    if target == ITEM and criterion.upper() in REWARD_PART_NAMES:
        return isinstance(value, (bool, int, float))
    return (
        isinstance(value, bool) and _find_check_position(item.metadata, criterion_key) is not None
    )


class CheckPosition(NamedTuple):
    part: str
    """Part of the reward."""
    check_index: int
    """Index in the part's list of checks."""


def _find_check_position(
    metadata: Mapping[str, Any], criterion_key: CriterionKey
) -> CheckPosition | None:
    """Return the position of the check with this target and criterion, or None."""
    checks = (metadata.get(REWARD_CHECKS) or {}).items()
    matching = (
        CheckPosition(part, index)
        for part, listed in checks
        for index, each in enumerate(listed)
        if tuple(each[:2]) == criterion_key
    )
    return next(matching, None)


def _write_reviews_to_simulation(simulation: JsonObject, item: ScoredItem) -> int:
    """Set `reward_info` of a simulation to the reviewed values.

    Return how many reviews it cannot represent.
    """
    info = dict(as_object(simulation.get("reward_info")))
    parts: dict[str, float] = {}
    n_unwritten = 0
    for key, value in item.overrides.items():
        if key in (ITEM_CORRECT, REWARD_KEY) or not _is_representable(item, key):
            continue
        part, at = _find_check_position(item.metadata, key) or (key[1].upper(), None)
        is_written = _try_set_check_verdicts(info, part, value, at)
        if at is None:
            parts[part] = float(value)
        elif (ITEM, part.lower()) not in item.overrides:
            name, field, _ = CHECK_FIELDS[part]
            parts[part] = float(
                all(check.get(field) is True for check in list_objects(info.get(name)))
            )
        n_unwritten += not is_written and part not in (item.metadata.get(REWARD_PARTS) or {})
    _update_reward_breakdown(info, parts, item.metadata.get(REWARD_PARTS))
    info["reward"] = get_reward(item)
    info["info"] = as_object(info.get("info")) | REVIEWED_MARK
    simulation["reward_info"] = info
    return n_unwritten


def _try_set_check_verdicts(
    info: JsonObject, part: str, value: Any, check_index: int | None
) -> bool:
    """Set one check of a part, or all checks if the index is None.

    Return False if the file cannot represent this.
    """
    if part == "DB":
        info["db_check"] = {
            **(info.get("db_check") or {}),
            "db_match": value == 1,
            "db_reward": float(value),
        }
        return True
    name, field, reward = CHECK_FIELDS[part]
    checks = [dict(check) for check in list_objects(info.get(name))]
    chosen = checks if check_index is None else checks[check_index : check_index + 1]
    if not chosen or value not in (0, 1) or (check_index is None and not value and len(checks) > 1):
        return False  # The review does not state which of several checks fails.
    for check in chosen:
        check[field] = bool(value)
        if reward is not None:
            check[reward] = float(value)
    info[name] = checks
    return True


def _update_reward_breakdown(
    info: JsonObject, new_parts: dict[str, float], known_parts: Any
) -> None:
    breakdown = info.get("reward_breakdown")
    if not isinstance(breakdown, dict) or not breakdown:
        values = as_object(known_parts)
        breakdown = values if values and None not in (values | new_parts).values() else None
    if breakdown is not None and any(part in breakdown for part in new_parts):
        info["reward_breakdown"] = {
            part: new_parts.get(part, value) for part, value in breakdown.items()
        }


def _write_reviews_to_version1_entry(entry: JsonObject, item: ScoredItem) -> None:
    """Set the reward of an entry of v1 to the reviewed value."""
    entry["reward"] = get_reward(item)
    reward_info = as_object(entry.get("info")).get("reward_info")
    if not isinstance(reward_info, dict):
        return
    reward_info["reward"] = entry["reward"]
    recorded = reward_info["info"] = (reward_info.get("info") or {}) | REVIEWED_MARK
    for criterion, field in _VERSION1_PARTS.items():
        value = item.overrides.get((ITEM, criterion))
        if value is not None:
            recorded[field] = float(value)
            if (
                criterion == "communicate"
                and value == 1
                and isinstance(recorded.get("outputs"), dict)
            ):
                recorded["outputs"] = dict.fromkeys(recorded["outputs"], True)


def _rewrite_index(path: Path, rewards: Mapping[str, float | None]) -> Iterator[RewrittenFile]:
    raw = read_file(path)
    try:
        main = json.loads(raw.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return
    index = list_objects(as_object(main).get("simulation_index"))
    known = [entry for entry in index if str(entry.get("id")) in rewards and "reward" in entry]
    for entry in known:
        entry["reward"] = rewards[str(entry["id"])]
    if known:
        yield RewrittenFile(path, _dump_with_layout_of(main, raw))


def _dump_with_layout_of(record: JsonObject, old_json: bytes) -> bytes:
    """Return a record as JSON with the indentation and escapes of `old_json`."""
    end = len(old_json.rstrip())
    old_json, rest = old_json[:end], old_json[end:]
    indents = [len(match[1]) for match in _INDENT.finditer(old_json)]
    base = indents[-1] if indents else 0
    indent = indents[0] - base if indents else None
    separators = None if indents or b'": ' in old_json[:2000] else (",", ":")
    text = json.dumps(record, indent=indent, ensure_ascii=old_json.isascii(), separators=separators)
    encoded = text.replace("\n", "\n" + " " * base).encode("utf-8", "surrogateescape")
    return (encoded.replace(b"\n", b"\r\n") if b"\r\n" in old_json else encoded) + rest
