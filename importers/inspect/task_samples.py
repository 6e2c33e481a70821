"""Recognize the samples of tasks that `tasks.py` reads by the rules of their benchmarks.

Logs of other tasks do not need these rules, which take a tenth of a second to load.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import as_object


def is_bfcl_sample(sample_value: dict[str, Any]) -> bool:
    metadata = as_object(sample_value.get("metadata"))
    return isinstance(metadata.get("category_name"), str) and "scorer" in metadata


def is_tau2_sample(sample_value: dict[str, Any]) -> bool:
    task = as_object(as_object(sample_value.get("metadata")).get("task"))
    return "evaluation_criteria" in task and "user_scenario" in task
