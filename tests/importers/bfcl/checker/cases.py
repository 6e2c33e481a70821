"""Function documents and small cases for checker tests."""

from __future__ import annotations

import json
from typing import Any

from fcreview.importers.bfcl.checker.evaluate import Evaluation, EvaluationSettings, evaluate_result
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.models import find_model_decoder

S = "simple_function_checker:"
P = "parallel_function_checker_no_order:"


def document(name: str, required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    schema = {
        key: value if isinstance(value, dict) else {"type": value}
        for key, value in properties.items()
    }
    return {
        "name": name,
        "parameters": {"type": "dict", "properties": schema, "required": required or []},
    }


def array(item_type: str, kind: str = "array") -> dict[str, Any]:
    return {"type": kind, "items": {"type": item_type}}


def evaluate(
    result: Any,
    case: DatasetItem,
    *,
    version: str,
    category: str,
    config: str | None = None,
    model: str = "",
    decoder: Decoder | None = None,
) -> Evaluation:
    """Evaluate a result with the given decoder or, without one, that of the model."""
    decoder = decoder or find_model_decoder(model, version).decoder
    return evaluate_result(result, case, EvaluationSettings(version, category, decoder, config))


def one(
    kind: Any, accepted: list[Any], value: Any, *, v1: bool = False, category: str = "simple_python"
) -> Evaluation:
    """Check `f(x=value)` for a parameter of type `kind`.

    Texts starting with `py:` are prompt-mode source.
    """
    answer: Any = {"f": {"x": accepted}} if v1 else [{"f": {"x": accepted}}]
    case = DatasetItem("c_0", category, functions=[document("f", x=kind)], ground_truth=answer)
    if isinstance(value, str) and value.startswith("py:"):
        result: Any = f"[f(x={value[3:]})]"
    else:
        result = [{"f": json.dumps({"x": value})}]
    return evaluate(result, case, version="V1" if v1 else "V4", category=category)


F = document("math.area", ["base"], base="integer", unit="string", extra="string")
AREA = DatasetItem(
    "simple_python_0",
    "simple_python",
    functions=[F],
    ground_truth=[{"math.area": {"base": [10], "unit": ["m", ""]}}],
)


def area(
    *calls: tuple[str, dict[str, Any]], category: str = "simple_python", case: DatasetItem = AREA
) -> Evaluation:
    result = [{name: json.dumps(arguments)} for name, arguments in calls]
    return evaluate(result, case, version="V4", category=category)
