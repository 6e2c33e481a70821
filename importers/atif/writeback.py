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
    dump_with_indentation_of,
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
    """Yield the files whose reward changes, and the reviews that no file can represent."""
    files: JobFiles = plan.importer_data
    trials = {trial.name: trial for trial in files.trials}
    yield from find_unrepresentable_reviews(
        items, lambda item, key: _is_representable(trials.get(item.id), key)
    )
    for item in items:
        trial, reward = trials.get(item.id), _get_reviewed_reward(item)
        if trial is None or reward is None:
            continue
        for path in (*([trial.result] if trial.result else trial.documents[-1:]), *trial.verifier):
            raw = read_file(path)
            if (content := _replace_reward_in_file(path, raw, reward)) not in (None, raw):
                yield RewrittenFile(path, content)


def find_summary_files(plan: RunPlan) -> list[Path]:
    files: JobFiles = plan.importer_data
    return [files.job_result] if files.job_result and files.job_result.is_file() else []


def _is_representable(trial: TrialFiles | None, key: CriterionKey) -> bool:
    if trial is None or key not in (ITEM_CORRECT, (ITEM, REWARD)):
        return False
    if trial.result is not None or trial.documents[-1].suffix in LINE_SUFFIXES:
        return trial.result is not None
    extra = as_object(_parse_object(read_file(trial.documents[-1])).get("extra"))
    return REWARD in extra or REWARDS_KEY in extra


def _get_reviewed_reward(item: ScoredItem) -> float | None:
    """Return the reward that annotators set, or 1 or 0 for an overridden verdict, or None
    without overrides.
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
    """Return the content of the file with the new reward, or None if the file has no field for a
    reward.
    """
    if path.name == "reward.txt":
        return f"{reward:g}".encode() + (b"\n" if raw.endswith(b"\n") else b"")
    if path.name in ("ctrf.json", "test-stdout.txt") or path.suffix in LINE_SUFFIXES:
        return None
    record = _parse_object(raw)
    if not record:
        return None
    if path.name == "reward.json":
        return dump_with_indentation_of(_replace_reward(record, reward), raw)
    if "trial_name" in record:
        verified = as_object(record.get("verifier_result"))
        rewards = _replace_reward(as_object(verified.get("rewards")), reward)
        return dump_with_indentation_of(
            record | {"verifier_result": verified | {"rewards": rewards}}, raw
        )
    extra = dict(as_object(record.get("extra")))
    if isinstance(extra.get(REWARDS_KEY), dict):
        extra[REWARDS_KEY] = _replace_reward(extra[REWARDS_KEY], reward)
    if REWARD in extra:
        extra[REWARD] = reward
    return dump_with_indentation_of(record | {"extra": extra}, raw) if extra else None


def _replace_reward(rewards: JsonObject, reward: float) -> JsonObject:
    return rewards | {find_deciding_reward_name(read_rewards(rewards)) or REWARD: reward}


def rewrite_golden(
    plan: RunPlan,  # noqa: ARG001
    fixes: GoldenFixes,
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    if fixes:
        yield Unrepresentable("golden answers, which ATIF does not have", len(fixes))
