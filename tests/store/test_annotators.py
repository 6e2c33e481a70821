"""Annotator names are safe file names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.review import Annotation, ItemKey
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.workspace import AnnotatorError, Workspace, check_annotator, to_safe_annotator


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / ".fcreview")


@pytest.mark.parametrize("name", ["alice", "a.b_c@d+e-f", "张伟", "Ærø", "7"])
def test_valid_names(name: str) -> None:
    assert check_annotator(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "-a", "a b", "a\0b", "a\nb", "x" * 65, "\u202eb", "\udcff"],
)
def test_invalid_names(workspace: Workspace, name: str) -> None:
    with pytest.raises(AnnotatorError):
        Journal(workspace, name)


@given(st.text(max_size=100))
def test_suggested_name_is_valid(text: str) -> None:
    name = to_safe_annotator(text)
    assert name == "" or check_annotator(name) == name


def test_names_that_differ_in_case_or_composition_do_not_share_a_file(workspace: Workspace) -> None:
    key = ItemKey(
        benchmark="bfcl",
        generation="V4",
        language="en",
        model="m",
        category="simple",
        id="simple_0",
    )
    Journal(workspace, "alice").append(key, Annotation(verdict=True))
    with pytest.raises(JournalError, match="alice"):
        Journal(workspace, "Alice")
    assert check_annotator("e\u0301") == check_annotator("\u00e9")
