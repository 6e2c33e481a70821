"""Values with more levels than the store can write prevent no run from being imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.common.clean_texts import clean_run
from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.evalscope.repeats import _hash_question
from fcreview.importers.evalscope.samples import Line, Sample
from fcreview.model.item import Run
from fcreview.model.json_value import TOO_DEEP_TEXT


def nest(n_levels: int) -> Any:
    value: Any = "text"
    for _ in range(n_levels):
        value = [value]
    return value


def test_deep_settings_of_a_run_are_cut() -> None:
    settings = {"depth": nest(900)}
    run = Run("nemo_gym", "", language="", model="maple-8b", path="run.jsonl", settings=settings)
    clean_run(run)
    assert TOO_DEEP_TEXT in orjson.dumps(run.settings).decode()


def test_deep_metadata_of_an_evalscope_sample_has_a_hash() -> None:
    """The importer compares hashes to find repeated questions."""

    def hash_question(question: str) -> str:
        fields = {"metadata": {"question": question, "deep": nest(900)}}
        record = JsonRecord(1, offset=0, length=1, value=fields)
        line = Line(Path("predictions.jsonl"), record)
        return _hash_question(Sample("subset", 0, prediction=line))

    assert hash_question("a") == hash_question("a")
    assert hash_question("a") != hash_question("b")
