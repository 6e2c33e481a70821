"""Write reviewed rewards and checks to the result files. The bytes of all other simulations stay
the same.

A review of the item sets the reward. A review of a part sets the part, its check, and the reward
that follows. `golden_fix.py` writes corrected tasks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.common.writeback import (
    CriterionKey,
    dump_with_layout_of,
    find_unrepresentable_reviews,
)
from fcreview.importers.tau.checker import INFRASTRUCTURE_ERROR, OWN_FIELD, REWARD_PART_NAMES
from fcreview.importers.tau.discovery import FOLDER_LAYOUT
from fcreview.importers.tau.leaderboard import get_reward
from fcreview.importers.tau.read import read_items
from fcreview.model.address import ITEM
from fcreview.model.derivation import REWARD_CHECKS, REWARD_PARTS
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
REWARD_KEY = (ITEM, "reward")
REVIEWED_MARK = {OWN_FIELD: "changed by reviews"}
"""Fields of `reward_info.info` that mark a reward as changed by reviews."""


class CheckFields(NamedTuple):
    """Names of the fields of a part's checks in `reward_info`."""

    checks: str
    """List of checks."""
    verdict: str
    """Field of a check."""
    reward: str | None = None
    """Field of a check; None if its checks have no reward."""


CHECK_FIELDS = {
    "ACTION": CheckFields("action_checks", "action_match", "action_reward"),
    "COMMUNICATE": CheckFields("communicate_checks", "met"),
    "ENV_ASSERTION": CheckFields("env_assertions", "met", "reward"),
    "NL_ASSERTION": CheckFields("nl_assertions", "met"),
}
"""Part of the reward -> names of the fields of its checks."""
_VERSION1_PARTS = {"db": "r_actions", "communicate": "r_outputs"}
"""Criterion -> field with the recorded result in an entry of v1."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed rewards and checks of a run into its files.

    Yields the files that change, and the reviews that no file can represent. The main file of a
    folder also lists the rewards of all simulations.
    """
    yield from find_unrepresentable_reviews(items, _is_representable)
    changed = [item for item in items if _has_representable_review(item)]
    if not changed:
        return

    rewards: dict[str, float | None] = {}
    n_unwritten = 0
    for path, edits in _locate_records(plan, changed).items():
        rewritten = _rewrite_records(path, edits, is_version1=plan.run.generation == "v1")
        rewards |= rewritten.rewards
        n_unwritten += rewritten.n_unwritten
        yield RewrittenFile(path, rewritten.content)

    # In the folder layout, `plan.data` has the main file, which lists the reward of each simulation
    # too. Without a main file, it is empty.
    is_folder = plan.importer_data == FOLDER_LAYOUT
    if is_folder and plan.data and rewards:
        yield from _rewrite_index(plan.data[0], rewards)
    if n_unwritten:
        yield Unrepresentable(
            "verdicts on checks that the result file does not contain", n_unwritten
        )


def _has_representable_review(item: ScoredItem) -> bool:
    return any(_is_representable(item, key) for key in item.overrides)


@dataclass(frozen=True, slots=True)
class _RecordEdit:
    """Record of an item in a result file, with the reviews of the item."""

    offset: int
    length: int
    scored: ScoredItem


def _locate_records(plan: RunPlan, items: Sequence[ScoredItem]) -> dict[Path, list[_RecordEdit]]:
    """Return file -> records of the items in it, from the start of the file to its end."""
    scored_by_id = {item.id: item for item in items}
    edits: defaultdict[Path, list[_RecordEdit]] = defaultdict(list)
    for item in read_items(plan):
        if isinstance(item, Item) and item.id in scored_by_id:
            edit = _RecordEdit(item.offset, item.length, scored=scored_by_id[item.id])
            edits[Path(item.file)].append(edit)
    for edits_of_file in edits.values():
        edits_of_file.sort(key=lambda edit: edit.offset)
    return edits


@dataclass(frozen=True, slots=True)
class _RewrittenRecords:
    content: bytes
    """Content of the file with the edited records."""
    rewards: dict[str, float | None]
    """Id of a simulation -> its reviewed reward."""
    n_unwritten: int
    """Number of reviews that the records cannot represent."""


@dataclass(frozen=True, slots=True)
class _ReviewedRecord:
    content: JsonObject
    """The record with the reviewed values."""
    n_unwritten: int = 0
    """Number of reviews that the record cannot represent."""


def _rewrite_records(
    path: Path, edits: Sequence[_RecordEdit], *, is_version1: bool
) -> _RewrittenRecords:
    """Write the reviews into the records of a file, and return its content with the new rewards.

    All bytes between the changed records stay the same. `edits` has the place of each record that
    changes, in the order of the file.
    """
    apply_reviews = _apply_reviews_to_entry if is_version1 else _apply_reviews_to_simulation
    raw = read_file(path)
    new_pieces: list[bytes] = []
    copied_until = 0
    rewards: dict[str, float | None] = {}
    n_unwritten = 0
    for edit in edits:
        end = edit.offset + edit.length
        old_record = raw[edit.offset : end]
        record = json.loads(old_record.decode("utf-8-sig", "surrogateescape"))
        reviewed = apply_reviews(record, edit.scored)
        n_unwritten += reviewed.n_unwritten
        rewards[str(record.get("id"))] = get_reward(edit.scored)

        new_pieces.append(raw[copied_until : edit.offset])
        new_pieces.append(dump_with_layout_of(reviewed.content, old_record))
        copied_until = end
    new_pieces.append(raw[copied_until:])
    return _RewrittenRecords(b"".join(new_pieces), rewards=rewards, n_unwritten=n_unwritten)


def find_summary_files(plan: RunPlan) -> list[Path]:  # noqa: ARG001
    """Return no files, because no file contains metrics."""
    return []


def _is_representable(item: ScoredItem, criterion_key: CriterionKey) -> bool:
    """Return whether the result file has a field for the verdict."""
    if item.metadata.get("ended") == INFRASTRUCTURE_ERROR:
        return False
    if criterion_key in (ITEM_CORRECT, REWARD_KEY):
        return True

    target, criterion = criterion_key
    value = item.overrides[criterion_key]
    if target == ITEM and criterion.upper() in REWARD_PART_NAMES:
        return isinstance(value, (bool, int, float))
    has_check = _find_check_position(item.metadata, criterion_key) is not None
    return has_check and isinstance(value, bool)


class CheckPosition(NamedTuple):
    part: str
    """Part of the reward."""
    check_index: int
    """Index in the part's list of checks."""


def _find_check_position(
    metadata: Mapping[str, Any], criterion_key: CriterionKey
) -> CheckPosition | None:
    """Return the position of the check with this target and criterion, or None."""
    checks_by_part = metadata.get(REWARD_CHECKS) or {}
    for part, checks in checks_by_part.items():
        for index, check in enumerate(checks):
            target, criterion = check[:2]
            if (target, criterion) == criterion_key:
                return CheckPosition(part, index)
    return None


def _apply_reviews_to_simulation(simulation: JsonObject, item: ScoredItem) -> _ReviewedRecord:
    """Set the reward of a simulation, its parts and its single checks to the reviewed values.

    The reward is the product of parts such as DB or ACTION. A part consists of checks. A review of
    a check changes the part that the check belongs to.
    """
    reward_info = dict(as_object(simulation.get("reward_info")))
    written_reviews = list(_write_reviews(reward_info, item))

    # Part -> value at the import.
    known_parts = as_object(item.metadata.get(REWARD_PARTS))
    new_parts: dict[str, float] = {}
    n_unwritten = 0
    for written in written_reviews:
        if written.part_value is not None:
            new_parts[written.part] = written.part_value
        # The simulation has two places for a review: the checks, and the breakdown of the reward,
        # which has the parts that were known at the import.
        has_place_in_breakdown = written.part in known_parts
        if not written.has_set_checks and not has_place_in_breakdown:
            n_unwritten += 1

    _update_reward_breakdown(reward_info, new_parts, known_parts)
    reward_info["reward"] = get_reward(item)
    reward_info["info"] = as_object(reward_info.get("info")) | REVIEWED_MARK
    return _ReviewedRecord(simulation | {"reward_info": reward_info}, n_unwritten)


def _write_reviews(reward_info: JsonObject, item: ScoredItem) -> Iterator[_WrittenReview]:
    """Set the checks in `reward_info` to the reviewed values, and yield what each review
    changed.
    """
    for key, value in item.overrides.items():
        # The reward itself follows from the reviews of all its parts.
        is_about_reward = key in (ITEM_CORRECT, REWARD_KEY)
        if not is_about_reward and _is_representable(item, key):
            yield _write_review(reward_info, item, key, value)


@dataclass(frozen=True, slots=True)
class _WrittenReview:
    """What a review of a part of the reward, or of one of its checks, has changed."""

    part: str
    part_value: float | None
    """New value of the part. None if the review does not change it."""
    has_set_checks: bool
    """Whether the checks of the simulation could be set to the reviewed value."""


def _write_review(
    reward_info: JsonObject, item: ScoredItem, key: CriterionKey, value: Any
) -> _WrittenReview:
    """Set the checks in `reward_info` to the value of one review, of a part or of a single check.

    Returns the part and the value that it gets.
    """
    check_position = _find_check_position(item.metadata, key)
    if check_position is None:
        _, criterion = key
        part = criterion.upper()
        has_set_checks = _try_set_part(reward_info, part, value)
        return _WrittenReview(part, part_value=float(value), has_set_checks=has_set_checks)

    part = check_position.part
    has_set_checks = _try_set_check(reward_info, check_position, value)
    # A review of the whole part counts more than reviews of its checks.
    is_part_reviewed = (ITEM, part.lower()) in item.overrides
    if is_part_reviewed:
        return _WrittenReview(part, part_value=None, has_set_checks=has_set_checks)
    # Otherwise the part follows from its checks, of which one was just set.
    part_value = float(_are_all_checks_met(reward_info, part))
    return _WrittenReview(part, part_value=part_value, has_set_checks=has_set_checks)


def _are_all_checks_met(reward_info: JsonObject, part: str) -> bool:
    fields = CHECK_FIELDS[part]
    checks = list_objects(reward_info.get(fields.checks))
    return all(check.get(fields.verdict) is True for check in checks)


def _try_set_part(reward_info: JsonObject, part: str, value: Any) -> bool:
    """Set all checks of a part. Return False if the file cannot represent this."""
    if part == "DB":
        database_check = dict(reward_info.get("db_check") or {})
        database_check["db_match"] = value == 1
        database_check["db_reward"] = float(value)
        reward_info["db_check"] = database_check
        return True

    n_checks = len(list_objects(reward_info.get(CHECK_FIELDS[part].checks)))
    if not value and n_checks > 1:
        # The review does not state which of several checks fails.
        return False
    return _try_set_checks(reward_info, part, range(n_checks), value)


def _try_set_check(reward_info: JsonObject, position: CheckPosition, value: Any) -> bool:
    """Set one check. Return False if the file does not contain it."""
    check_index = position.check_index
    return _try_set_checks(reward_info, position.part, range(check_index, check_index + 1), value)


def _try_set_checks(reward_info: JsonObject, part: str, indexes: range, value: Any) -> bool:
    """Set some checks of a part of the reward, those at `indexes`, to passed (1) or failed (0).

    Returns whether that is possible: the simulation has these checks, and the value is 0 or 1.
    """
    fields = CHECK_FIELDS[part]
    checks = [dict(check) for check in list_objects(reward_info.get(fields.checks))]
    chosen = [check for index, check in enumerate(checks) if index in indexes]
    if not chosen or value not in (0, 1):
        return False

    for check in chosen:
        check[fields.verdict] = bool(value)
        if fields.reward is not None:
            check[fields.reward] = float(value)
    reward_info[fields.checks] = checks
    return True


def _update_reward_breakdown(
    reward_info: JsonObject, new_parts: dict[str, float], known_parts: JsonObject
) -> None:
    """Set the reviewed parts in the recorded breakdown.

    If the file has none, `known_parts`, the parts at the import, become the breakdown. But the
    reward is the product of the breakdown, so each of them must have a value.
    """
    breakdown = as_object(reward_info.get("reward_breakdown"))
    if not breakdown:
        has_unknown_part = None in (known_parts | new_parts).values()
        if has_unknown_part:
            return
        breakdown = known_parts

    # Other reviewed parts do not count for the reward.
    counted_parts = {part: value for part, value in new_parts.items() if part in breakdown}
    if counted_parts:
        reward_info["reward_breakdown"] = breakdown | counted_parts


def _apply_reviews_to_entry(entry: JsonObject, item: ScoredItem) -> _ReviewedRecord:
    """Set the reward of an entry of v1, and its parts, to the reviewed values."""
    reviewed_entry = entry | {"reward": get_reward(item)}
    info = as_object(entry.get("info"))
    reward_info = info.get("reward_info")
    if not isinstance(reward_info, dict):
        return _ReviewedRecord(reviewed_entry)

    checks = (reward_info.get("info") or {}) | REVIEWED_MARK
    for criterion, field_name in _VERSION1_PARTS.items():
        value = item.overrides.get((ITEM, criterion))
        if value is not None:
            checks[field_name] = float(value)

    # `outputs` maps each expected text to whether the agent said it. A review that fails this part
    # does not tell which text is missing.
    all_texts_were_said = item.overrides.get((ITEM, "communicate")) == 1
    if all_texts_were_said and isinstance(checks.get("outputs"), dict):
        checks["outputs"] = dict.fromkeys(checks["outputs"], True)

    reviewed_info = reward_info | {"reward": reviewed_entry["reward"], "info": checks}
    return _ReviewedRecord(reviewed_entry | {"info": info | {"reward_info": reviewed_info}})


def _rewrite_index(path: Path, rewards: Mapping[str, float | None]) -> Iterator[RewrittenFile]:
    """Yield the main file with the reviewed rewards in its index of the simulations.

    Yields nothing if no reward changes. `rewards` maps simulation ids to rewards.
    """
    raw = read_file(path)
    try:
        main = json.loads(raw.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return

    is_changed = False
    for entry in list_objects(as_object(main).get("simulation_index")):
        simulation_id = str(entry.get("id"))
        if simulation_id in rewards and "reward" in entry:
            entry["reward"] = rewards[simulation_id]
            is_changed = True
    if is_changed:
        yield RewrittenFile(path, dump_with_layout_of(main, raw))
