"""Read the rollouts of a run once before the import: the range of the rewards, and the questions.

No field of a rollout says whether it passes. Rewards of 0 and 1 are verdicts only if all rewards
of the file are 0 or 1, so the first rollout can be judged only when the last one is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.rewards import format_threshold, read_reward
from fcreview.importers.common.run_models import RunModels
from fcreview.importers.nemo_gym.rollouts import (
    REWARD,
    RunFiles,
    compute_question_key,
    get_model_name,
    get_rollout_index,
    get_task_index,
    is_failure,
    is_rollout,
    read_rollouts,
)
from fcreview.run_plan import RunPlan

MAX_CHOICES = 50
"""Number of distinct rewards that are offered as thresholds."""


@dataclass(slots=True)
class Survey:
    rewards: set[float] = field(default_factory=set)
    """Distinct rewards, at most `MAX_CHOICES`."""
    has_more_rewards: bool = False
    question_keys: set[str] = field(default_factory=set)
    task_indexes: set[int] = field(default_factory=set)
    rollout_keys: set[tuple[int, int]] = field(default_factory=set)
    """Task and rollout index of each rollout that has both, of all models of the file."""
    models: RunModels = field(default_factory=RunModels)

    @property
    def has_only_verdicts(self) -> bool:
        """Whether all rewards are 0 or 1."""
        return bool(self.rewards) and not self.has_more_rewards and self.rewards <= {0.0, 1.0}

    def list_thresholds(self) -> list[str]:
        """Return the values of --verdict-from: `reward>=1`, `reward>=0.5`, highest first."""
        return [format_threshold(reward) for reward in sorted(self.rewards, reverse=True)]

    def add_rollout(self, rollout: dict[str, Any]) -> None:
        self.question_keys.add(compute_question_key(rollout))
        self.models.add(get_model_name(rollout))
        task = get_task_index(rollout)
        if task is not None:
            self.task_indexes.add(task)

    def add_key(self, rollout: dict[str, Any]) -> None:
        task = get_task_index(rollout)
        trial = get_rollout_index(rollout)
        if task is not None and trial is not None:
            self.rollout_keys.add((task, trial))

    def add_reward(self, reward: float) -> None:
        if len(self.rewards) < MAX_CHOICES:
            self.rewards.add(reward)
        elif reward not in self.rewards:
            self.has_more_rewards = True


def survey_rollouts(files: RunFiles) -> Survey:
    """Survey the rollouts and the failed attempts. Rewards of failed attempts do not count."""
    survey = Survey()
    for path in files.list_rollout_files():
        for record in read_rollouts(path, owner=None):
            if not isinstance(record, JsonRecord) or not is_rollout(record.value):
                continue
            # An input was run if any model of the file answered it.
            survey.add_key(record.value)
            if files.owner is not None and not files.owner.has_rollout(record.value):
                continue
            survey.add_rollout(record.value)
            reward = read_reward(record.value.get(REWARD))
            if reward is not None and not is_failure(record.value):
                survey.add_reward(reward)
    return survey


def list_verdict_choices(plan: RunPlan) -> list[str]:
    return survey_rollouts(plan.importer_data).list_thresholds()
