"""Write reviewed rewards to the rollouts of verifiers.

In 0.4, a reviewed verdict sets the score of the reward that decides; in legacy runs, `reward`. All
other fields, such as `tool_defs` and the token data, stay as they are. Neither form has a field for
rollouts that must not be trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.records import as_object, is_number
from fcreview.importers.common.rewards import ITEM_REWARD, get_reviewed_reward
from fcreview.importers.common.writeback import (
    CriterionKey,
    LineEdits,
    apply_line_edits,
    find_unrepresentable_reviews,
    has_record_per_line,
    is_incident_mark_reviewed,
    parse_numbered_records,
)
from fcreview.importers.verifiers.incidents import find_episode_incident, find_legacy_incident
from fcreview.importers.verifiers.read import DECIDING_KEY, REWARD_PREFIX
from fcreview.importers.verifiers.rollouts import (
    JsonObject,
    RolloutNamer,
    RunFiles,
    choose_main_trace,
    read_rollouts,
)
from fcreview.model.address import ITEM
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

MASKS = "reviewed incidents, because verifiers has no field for rollouts to leave out of training"


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed rewards and verdicts of a run into its file of rollouts.

    Yields the file if it changes, and the reviews that it cannot represent.
    """
    files: RunFiles = plan.importer_data
    raw = read_file(files.rollouts)
    line_by_id = _find_lines(files) if has_record_per_line(raw) else {}
    is_shared = files.model is not None

    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        # The copies of a file that several runs share would overwrite each other.
        if is_shared or item.id not in line_by_id:
            return False
        return _is_representable(item, key, files)

    yield from find_unrepresentable_reviews(items, is_representable)
    if not is_shared:
        item_by_line = {line_by_id[item.id]: item for item in items if item.id in line_by_id}
        yield from _rewrite_rollouts(files, raw, item_by_line)


def _rewrite_rollouts(
    files: RunFiles, raw: bytes, item_by_line: Mapping[int, ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviews of items into the lines of their rollouts, in the file with the content
    `raw`.

    The mark that a rollout is an incident, no failure, is not written back.
    """
    lines = raw.split(b"\n")
    find_incident = find_legacy_incident if files.is_legacy else find_episode_incident
    edits = LineEdits()
    n_reviewed_marks = 0
    for number, rollout in parse_numbered_records(raw):
        item = item_by_line.get(number)
        if item is None:
            continue
        if is_incident_mark_reviewed(item, find_incident(rollout)):
            n_reviewed_marks += 1
        new_rollout = _apply_reviews(rollout, item, files)
        edits.replace_if_changed(number, lines[number - 1], rollout, new_rollout)

    if n_reviewed_marks:
        yield Unrepresentable(MASKS, n_reviewed_marks)
    if edits:
        yield RewrittenFile(files.rollouts, apply_line_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    files: RunFiles = plan.importer_data
    return [files.config] if files.is_legacy and files.config is not None else []


def _find_lines(files: RunFiles) -> dict[str, int]:
    namer = RolloutNamer(is_legacy=files.is_legacy)
    lines: dict[str, int] = {}
    for record in read_rollouts(files):
        if isinstance(record, JsonRecord):
            lines[namer.name(record).item_id] = record.line
    return lines


def _is_representable(item: ScoredItem, key: CriterionKey, files: RunFiles) -> bool:
    """Whether the file of rollouts has a place for a reviewed verdict."""
    if files.is_legacy:
        return key in (ITEM_REWARD, ITEM_CORRECT) and get_reviewed_reward(item) is not None
    if key == ITEM_CORRECT:
        return isinstance(item.metadata.get(DECIDING_KEY), str)
    target, criterion = key
    return target == ITEM and criterion.startswith(REWARD_PREFIX) and "/" not in criterion


def _apply_reviews(rollout: JsonObject, item: ScoredItem, files: RunFiles) -> JsonObject:
    """Return a rollout with the reviewed rewards. Rollouts of older versions, called legacy, have
    only one reward, others those of each agent in its trace.
    """
    if files.is_legacy:
        reward = get_reviewed_reward(item)
        return rollout if reward is None else rollout | {"reward": reward}
    scores = _list_reviewed_scores(item)
    if not scores:
        return rollout
    main = choose_main_trace(rollout)
    traces = [
        _replace_scores(trace, scores) if trace is main else trace for trace in rollout["traces"]
    ]
    return rollout | {"traces": traces}


def _list_reviewed_scores(item: ScoredItem) -> dict[str, float]:
    """Return the reviewed scores of the main agent by the name of the reward.

    A review of the item is one of the reward that decides the verdict, if the run has one.
    """
    scores: dict[str, float] = {}
    deciding = item.metadata.get(DECIDING_KEY)
    verdict = item.overrides.get(ITEM_CORRECT)
    if isinstance(deciding, str) and isinstance(verdict, bool):
        scores[deciding] = float(verdict)
    for (target, criterion), value in item.overrides.items():
        is_own_reward = target == ITEM and criterion.startswith(REWARD_PREFIX)
        # The criteria of other agents contain the name of the agent: `AGENT/NAME`.
        if is_own_reward and "/" not in criterion and is_number(value):
            scores[criterion.removeprefix(REWARD_PREFIX)] = float(value)
    return scores


def _replace_scores(trace: JsonObject, scores: dict[str, float]) -> JsonObject:
    rewards = dict(as_object(trace.get("rewards")))
    for name, score in scores.items():
        rewards[name] = {"weight": 1.0} | as_object(rewards.get(name)) | {"score": score}
    return trace | {"rewards": rewards}
