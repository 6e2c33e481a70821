"""Rules of benchmarks that general code needs.

Reviews outlive the runs, so the rules by which their verdicts count must be known without an
importer. This is the only module outside of `importers/` that knows benchmarks by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fcreview.model.derivation import (
    ARGUMENT_SCORE_RULES,
    CLAIM_MEAN_RULES,
    EQUIVALENT_PARTS_RULES,
    NO_DERIVATION,
    PROCESS_ACCURACY_RULES,
    REWARD_PRODUCT_RULES,
    REWARD_RULES,
    SNAPSHOT_RULES,
    TOTAL_REWARD_RULES,
    DerivationRules,
)


@dataclass(frozen=True, slots=True)
class BenchmarkRules:
    derivation: DerivationRules = NO_DERIVATION
    """Rules that derive verdicts from verdicts on other criteria of the item."""
    groups_are_tasks: bool = False
    """Whether a group has the trials of one task, and each category numbers its tasks. Else a
    group is a conversation, whose items can have several categories.
    """


BENCHMARK_RULES: Mapping[str, BenchmarkRules] = {
    "acebench": BenchmarkRules(PROCESS_ACCURACY_RULES),
    "atif": BenchmarkRules(REWARD_RULES, groups_are_tasks=True),
    "complexfuncbench": BenchmarkRules(EQUIVALENT_PARTS_RULES),
    "confetti": BenchmarkRules(ARGUMENT_SCORE_RULES),
    "hammerbench": BenchmarkRules(SNAPSHOT_RULES),
    "inspect": BenchmarkRules(groups_are_tasks=True),
    "mcp_atlas": BenchmarkRules(CLAIM_MEAN_RULES),
    "nemo_gym": BenchmarkRules(TOTAL_REWARD_RULES),
    "tau": BenchmarkRules(REWARD_PRODUCT_RULES, groups_are_tasks=True),
    "verifiers": BenchmarkRules(TOTAL_REWARD_RULES),
}
_NO_RULES = BenchmarkRules()


def find_benchmark_rules(benchmark: str) -> BenchmarkRules:
    """Return the rules of a benchmark. A benchmark without an entry has none."""
    return BENCHMARK_RULES.get(benchmark, _NO_RULES)
