"""Write reviewed verdicts to the files of Harbor trials, and to `extra` of single trajectories.

A reviewed verdict sets the deciding reward to 1 or 0, in `result.json` and in the verifier's file.
A trajectory outside Harbor jobs is changed only if its `extra` has a reward, because ATIF does not
define a field for verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.atif.discovery import LINE_SUFFIXES, JobFiles, TrialFiles
from fcreview.importers.atif.leaderboard import REWARD, REWARDS_KEY
from fcreview.importers.atif.read import find_deciding_reward_name, read_rewards
from fcreview.importers.common.records import as_object, is_number
from fcreview.importers.common.writeback import (
    CriterionKey,
    GoldenFixes,
    dump_with_layout_of,
    find_unrepresentable_reviews,
)
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into the files with the rewards of its trials.

    Yields the files that change, and the reviews that no file can represent.
    """
    files: JobFiles = plan.importer_data
    trial_by_name = {trial.name: trial for trial in files.trials}
    yield from find_unrepresentable_reviews(
        items, lambda item, key: _is_representable(trial_by_name.get(item.id), key)
    )

    for item in items:
        trial = trial_by_name.get(item.id)
        reward = _get_reviewed_reward(item)
        if trial is None or reward is None:
            continue
        # The same reward can be in the result, in the verifier's files and in the trajectory.
        for path in _list_files_with_reward(trial):
            old_content = read_file(path)
            new_content = _replace_reward_in_file(path, old_content, reward)
            if new_content is not None and new_content != old_content:
                yield RewrittenFile(path, new_content)


def _list_files_with_reward(trial: TrialFiles) -> list[Path]:
    """Return `result.json`, or without it the last trajectory, and the files of the verifier."""
    if trial.result:
        return [trial.result, *trial.verifier]
    return [*trial.documents[-1:], *trial.verifier]


def find_summary_files(plan: RunPlan) -> list[Path]:
    files: JobFiles = plan.importer_data
    return [files.job_result] if files.job_result and files.job_result.is_file() else []


def _is_representable(trial: TrialFiles | None, key: CriterionKey) -> bool:
    """Whether a file of a trial can state the reviewed verdict on a criterion as a reward."""
    if trial is None or key not in (ITEM_CORRECT, (ITEM, REWARD)):
        return False
    if trial.result is not None:
        return True
    # Trajectories in JSON Lines files are not rewritten.
    if trial.documents[-1].suffix in LINE_SUFFIXES:
        return False
    extra = as_object(_parse_object(read_file(trial.documents[-1])).get("extra"))
    return REWARD in extra or REWARDS_KEY in extra


def _get_reviewed_reward(item: ScoredItem) -> float | None:
    """Return the reward that the annotators set for an item, or None if they set none.

    A verdict that they set counts as 1 or 0.
    """
    reward = item.overrides.get((ITEM, REWARD))
    if is_number(reward):
        return float(reward)
    verdict = item.overrides.get(ITEM_CORRECT)
    return float(verdict) if isinstance(verdict, bool) else None


def _parse_object(raw: bytes) -> JsonObject:
    try:
        return as_object(json.loads(raw.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def _replace_reward_in_file(path: Path, raw: bytes, reward: float) -> bytes | None:
    """Return the content of a file of a trial with a new reward, or None if this kind of file has
    no reward.

    `raw` is the old content. The layout of JSON files is kept.
    """
    if path.name == "reward.txt":
        line_feed = b"\n" if raw.endswith(b"\n") else b""
        return f"{reward:g}".encode() + line_feed
    is_file_without_reward = path.name in ("ctrf.json", "rubric_breakdown.json", "test-stdout.txt")
    if is_file_without_reward or path.suffix in LINE_SUFFIXES:
        return None

    record = _parse_object(raw)
    new_record = _replace_reward_in_record(path, record, reward) if record else None
    if new_record is None:
        return None
    return dump_with_layout_of(new_record, raw)


def _replace_reward_in_record(path: Path, record: JsonObject, reward: float) -> JsonObject | None:
    """Return the object in a JSON file with a new reward, or None if it has no reward."""
    if path.name == "reward.json":
        return _replace_reward(record, reward)
    is_trial_result = "trial_name" in record
    if is_trial_result:
        return _replace_reward_of_result(record, reward)
    is_trajectory_with_rewards = bool(as_object(record.get("extra")))
    if is_trajectory_with_rewards:
        return _replace_reward_of_trajectory(record, reward)
    return None


def _replace_reward_of_result(record: JsonObject, reward: float) -> JsonObject:
    """Return the record of a trial's `result.json` with the new reward."""
    verifier_result = as_object(record.get("verifier_result"))
    rewards = _replace_reward(as_object(verifier_result.get("rewards")), reward)
    return record | {"verifier_result": verifier_result | {"rewards": rewards}}


def _replace_reward_of_trajectory(record: JsonObject, reward: float) -> JsonObject:
    """Return a trajectory with the new reward in `extra`, where `extra` has rewards."""
    extra = dict(as_object(record.get("extra")))
    if isinstance(extra.get(REWARDS_KEY), dict):
        extra[REWARDS_KEY] = _replace_reward(extra[REWARDS_KEY], reward)
    if REWARD in extra:
        extra[REWARD] = reward
    return record | {"extra": extra}


def _replace_reward(rewards: JsonObject, reward: float) -> JsonObject:
    """Return the rewards by name, with a new value for the reward that decides whether the trial
    passes.
    """
    deciding_name = find_deciding_reward_name(read_rewards(rewards)) or REWARD
    return rewards | {deciding_name: reward}


def rewrite_golden(
    plan: RunPlan,  # noqa: ARG001
    fixes: GoldenFixes,
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    if fixes:
        yield Unrepresentable("golden answers, which ATIF does not have", len(fixes))
