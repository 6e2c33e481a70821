"""Read rewards, tests and exceptions of a Harbor trial from the files around its trajectory.

The official verdict is the reward: 1 passes, everything else fails. If the verifier ran after an exception, the reward
counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.atif.discovery import TrialFiles
from fcreview.importers.common.jsonl import MAX_FILE_BYTES, read_json
from fcreview.model.item import ImportIssue, Item, Verdict
from fcreview.model.review import CORRECT
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
REWARD = "reward"
"""Criterion of the reward that decides, and its usual name in the files."""
FULL_REWARD_TOLERANCE = 1e-6
"""Maximum difference between 1 and a reward that passes, as for tau-bench."""
DIFFERENT_REWARDS = "the reward differs from the one in result.json. Using the one in result.json"
MAX_OUTPUT_LENGTH = 20_000
"""Maximum number of characters of the verifier's output that the item keeps, from its end."""
FAILED_STATUSES = ("failed", "other")
"""Statuses of CTRF tests that did not pass. `skipped` and `pending` tests have no verdict."""
EXCEPTION_KEY = "exception"
"""Metadata key: type of the exception that ended the trial."""
REWARDS_KEY = "rewards"
"""Metadata key: rewards by name. Missing if the trial was not verified."""


@dataclass(slots=True)
class TrialRecord:
    """The results of a trial, collected from its files."""

    result: JsonObject = field(default_factory=dict)
    rewards: dict[str, float] | None = None
    """Rewards by name; None if the trial was not verified."""
    tests: list[JsonObject] = field(default_factory=list)
    output: str = ""
    issues: list[ImportIssue] = field(default_factory=list)


def read_trial(trial: TrialFiles) -> TrialRecord:
    """Read the results of a trial. If `result.json` is missing or has no reward, the verifier's files are used."""
    record = TrialRecord()
    if trial.result is not None:
        record.result = read_json(trial.result, record.issues, dict) or {}
    record.rewards = read_rewards(as_object(record.result.get("verifier_result")).get("rewards"))
    files = {path.name: path for path in trial.verifier}
    if "reward.json" in files:
        _add_rewards(record, files["reward.json"], read_rewards(read_json(files["reward.json"], record.issues, dict)))
    if "reward.txt" in files:
        _add_rewards(record, files["reward.txt"], _read_reward_text(trial, record))
    if "ctrf.json" in files:
        results = as_object((read_json(files["ctrf.json"], record.issues, dict) or {}).get("results"))
        tests = results.get("tests")
        record.tests = [each for each in tests if isinstance(each, dict)] if isinstance(tests, list) else []
    if "test-stdout.txt" in files:
        record.output = _read_text(trial, "test-stdout.txt", record)[-MAX_OUTPUT_LENGTH:]
    return record


def _add_rewards(record: TrialRecord, path: Path, rewards: dict[str, float] | None) -> None:
    """Use the rewards of a verifier's file if `result.json` has none. Otherwise, add an issue if they differ."""
    if record.rewards is None:
        record.rewards = rewards
    elif rewards is not None:
        known = record.rewards
        differs = rewards != known if path.name == "reward.json" else rewards[REWARD] not in known.values()
        if differs:
            record.issues.append(ImportIssue(str(path), None, DIFFERENT_REWARDS))


def as_object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def read_rewards(value: Any) -> dict[str, float] | None:
    """Return the finite numbers of an object by name, or None if there are none. True and false count as 1 and 0."""
    if isinstance(value, (int, float)):
        value = {REWARD: value}
    rewards = {
        name: float(number)
        for name, number in as_object(value).items()
        if isinstance(number, (int, float)) and abs(number) < 1e300 and not math.isnan(number)
    }
    return rewards or None


def _read_text(trial: TrialFiles, name: str, record: TrialRecord) -> str:
    path = next(path for path in trial.verifier if path.name == name)
    try:
        return read_file(path, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        record.issues.append(ImportIssue(str(path), None, f"cannot be read: {error.strerror or error}"))
        return ""


def _read_reward_text(trial: TrialFiles, record: TrialRecord) -> dict[str, float] | None:
    text = _read_text(trial, "reward.txt", record).strip()
    try:
        return read_rewards(float(text)) if len(text) < 40 else None
    except ValueError:
        path = next(path for path in trial.verifier if path.name == "reward.txt")
        record.issues.append(ImportIssue(str(path), 1, "not a number, so the trial has no reward", text[:100]))
        return None


def main_reward(rewards: dict[str, float] | None) -> str | None:
    """Return the name of the reward that decides: `reward`, or the only one. None if there is no such reward."""
    if not rewards:
        return None
    return REWARD if REWARD in rewards else next(iter(rewards)) if len(rewards) == 1 else None


def add_official_verdicts(item: Item, rewards: dict[str, float] | None, by: str) -> None:
    """Add the verdict on the item and a score for each reward. The reward that decides has the criterion `reward`."""
    decides = main_reward(rewards)
    if rewards and decides is not None:
        item.official = abs(rewards[decides] - 1) <= FULL_REWARD_TOLERANCE
        item.verdicts.append(Verdict("official", item.official, criterion=CORRECT, by=by))
    for name, value in (rewards or {}).items():
        criterion = REWARD if name == decides else name
        item.verdicts.append(Verdict("official", value, criterion=criterion, by=by))


def add_test_verdicts(item: Item, tests: list[JsonObject]) -> None:
    """Add a verdict for each test of the verifier. The first failed test becomes the error type of a failed item."""
    first_failed: tuple[str, str] | None = None
    for test in tests:
        name, status = str(test.get("name")), test.get("status")
        value = True if status == "passed" else False if status in FAILED_STATUSES else None
        reason = "\n".join(str(test[key]) for key in ("message", "trace") if test.get(key))
        item.verdicts.append(Verdict("official", value, criterion=f"test {name}", rationale=reason or None, by="CTRF"))
        if value is False and first_failed is None:
            first_failed = name, reason
    if first_failed and item.official is False and item.error_type is None:
        name, reason = first_failed
        item.error_type = f"failed_test:{name}"
        item.first_difference = " ".join(f"test {name} failed: {reason}".rstrip(": ").split())[:300]
