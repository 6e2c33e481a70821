"""Report files with rollouts of so many models that they are read as one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.common.not_run import list_some
from fcreview.model.item import ImportIssue

MAX_MODELS = 100
"""Maximum number of distinct models that are kept in memory."""
MAX_NAME_LENGTH = 60


@dataclass(slots=True)
class RunModels:
    """Names of the models that wrote the rollouts of a run, in order and without duplicates."""

    names: dict[str, None] = field(default_factory=dict)

    def add(self, name: Any) -> None:
        """Add the model of a rollout. A value that is no text, or an empty one, names no model."""
        is_name = isinstance(name, str) and bool(name.strip())
        if is_name and len(self.names) < MAX_MODELS:
            self.names[name] = None


def report_several_models(path: Path, models: RunModels) -> Iterator[ImportIssue]:
    """Yield an error if a run has several models, because its figures describe none of them."""
    if len(models.names) <= 1:
        return
    names = [make_excerpt(name, MAX_NAME_LENGTH) for name in models.names]
    what = (
        f"the file has rollouts of several models: {list_some(names)}. They are imported as one"
        " run, whose figures cover all of them. Write one file for each model"
    )
    yield ImportIssue(str(path), what=what, severity="error")
