"""Write reviewed rewards and masks to the rollouts of NeMo Gym.

A reviewed reward replaces `reward`. If all rewards of the file are 0 or 1, a reviewed verdict is a
reward, too. A review that marks a rollout as an incident sets `mask_sample`, which excludes it from
training, and a review that clears the mark removes it. All other fields stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.records import as_object
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
from fcreview.importers.nemo_gym.discovery import SUMMARY_ENDINGS
from fcreview.importers.nemo_gym.incidents import find_rollout_incident
from fcreview.importers.nemo_gym.rollouts import (
    MASK,
    REWARD,
    JsonObject,
    RolloutNamer,
    RunFiles,
    is_failure,
    is_rollout,
    read_rollouts,
)
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

CONFIG = "instance_config"


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed rewards of a run into its file of rollouts.

    Yields the file if it changes, and the reviews that it cannot represent.
    """
    files: RunFiles = plan.importer_data
    raw = read_file(files.rollouts)
    item_by_line = _find_written_items(files, raw, items)
    written_ids = {item.id for item in item_by_line.values()}

    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        is_reward = key in (ITEM_REWARD, ITEM_CORRECT) and get_reviewed_reward(item) is not None
        return item.id in written_ids and is_reward

    yield from find_unrepresentable_reviews(items, is_representable)
    edits = _edit_lines(raw, item_by_line)
    if edits:
        yield RewrittenFile(files.rollouts, apply_line_edits(raw, edits))


def _find_written_items(
    files: RunFiles, raw: bytes, items: Sequence[ScoredItem]
) -> dict[int, ScoredItem]:
    """Return the items whose rollouts can be written, by their lines."""
    # The copies of a file that several runs share would overwrite each other.
    is_shared = files.owner is not None
    if is_shared or not has_record_per_line(raw):
        return {}
    lines_by_id = _find_lines(files)
    return {lines_by_id[item.id]: item for item in items if item.id in lines_by_id}


def find_summary_files(plan: RunPlan) -> list[Path]:
    files: RunFiles = plan.importer_data
    paths = [files.rollouts.with_name(files.rollouts.stem + end) for end in SUMMARY_ENDINGS]
    return [path for path in paths if path.is_file()]


def _find_lines(files: RunFiles) -> dict[str, int]:
    """Return the line of each finished rollout, by the names that the import gives."""
    namer = RolloutNamer()
    lines: dict[str, int] = {}
    for record in read_rollouts(files.rollouts, files.owner):
        if not isinstance(record, JsonRecord) or not is_rollout(record.value):
            continue
        # The reward of a failed attempt is no verdict. The import names failed attempts last.
        if not is_failure(record.value):
            lines[namer.name(record).item_id] = record.line
    return lines


def _edit_lines(raw: bytes, items_by_line: Mapping[int, ScoredItem]) -> LineEdits:
    """Return the changes of the lines whose items were reviewed."""
    lines = raw.split(b"\n")
    edits = LineEdits()
    for number, rollout in parse_numbered_records(raw):
        item = items_by_line.get(number)
        if item is not None:
            new_rollout = _apply_reviews(rollout, item)
            edits.replace_if_changed(number, lines[number - 1], rollout, new_rollout)
    return edits


def _apply_reviews(rollout: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a rollout with the reviewed reward, and the mark whether it is left out."""
    reviewed: JsonObject = dict(rollout)
    reward = get_reviewed_reward(item)
    if reward is not None:
        reviewed[REWARD] = reward
    if is_incident_mark_reviewed(item, find_rollout_incident(rollout)):
        reviewed[MASK] = item.is_incident
        config = as_object(rollout.get(CONFIG))
        if MASK in config:
            reviewed[CONFIG] = config | {MASK: item.is_incident}
    return reviewed
