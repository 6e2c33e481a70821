"""One dataset item of BFCL as the reader hands it to the checker: question, function documents and golden answer,
joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.errata.rules import Rule
from fcreview.model import Call, Message


@dataclass(slots=True)
class Case:
    id: str
    category: str
    turns: list[list[dict[str, Any]]] = field(default_factory=list)
    """Messages `{"role", "content"}` a turn; V1's plain string is one user message in one turn."""
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Original documents, always a list (V1's single object is wrapped)."""
    answer: Any = None
    """`ground_truth` as stored: V1 `{name_N: {param: [..]}}`, V2+ `[{name: {param: [..]}}]`, multi-turn
    `[["f(a=1)"]]`, None."""
    golden: list[Call] = field(default_factory=list)
    """`answer` as golden calls of the vocabulary, for display and comparison. Shared by all runs: never changed."""
    golden_hash: str = ""
    opening: list[Message] = field(default_factory=list)
    """The messages that open each turn. Shared by all runs: never changed."""
    question: str = ""
    """One line for lists."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields of the question and the answer that have no other place here, shown under *more*: initial_config,
    involved_classes, missed_function, path, scenario, source ..."""
    rules: tuple[Rule, ...] = ()
    """Equivalence rules of errata, that hold for the checker."""
    prepared: dict[str, Any] = field(default_factory=dict)
    """The checker's cache for this case (compiled golden values, parameters by function); filled on first use."""
    judged: dict[str, Any] = field(default_factory=dict)
    """Evaluations of decoded outputs, see `evaluate`."""
    replies: dict[Any, Any] = field(default_factory=dict)
    """What raw replies come to, see `replies`."""
