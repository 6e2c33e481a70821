"""Records of the files beside CONFETTI's scores by what people say: soft scores, hallucinated arguments, labels."""

from __future__ import annotations

from typing import Any

from fcreview.calls.paths import child
from fcreview.figures import Scored
from fcreview.importers.confetti import acts
from fcreview.importers.confetti.figures import HALLUCINATED, SOFT, flags_of, soft_of
from fcreview.review import OWN
from fcreview.targets import RESPONSE, call_of, part_of

Json = dict[str, Any]


def soft_record(record: Json, row: Scored) -> Json:
    """`valid` is the item's verdict; scores of arguments and of the call as the figures have them."""
    found = dict(record)
    if "valid" in found and isinstance(row.overruled.get(OWN), bool):
        found["valid"] = row.overruled[OWN]
    scores = dict(found["param_scores"]) if isinstance(found.get("param_scores"), dict) else {}
    said = {target: value for (target, criterion), value in row.overruled.items() if criterion == SOFT}
    for name in scores:
        for target, value in said.items():
            part = part_of(target)
            if part is not None and part.argument == child("", name) and isinstance(value, (int, float)):
                scores[name] = value
    if scores:
        found["param_scores"] = scores
    score = soft_of(row)
    if said and score is not None:
        found["soft_score"] = score
    return found


def flags_record(record: Json, row: Scored) -> Json:
    """`hallucinated_parameters` has a list of names for each predicted call, in order. Names that are no arguments of
    their call stay."""
    before = record.get("hallucinated_parameters")
    if not isinstance(before, list) or not any(criterion == HALLUCINATED for _, criterion in row.overruled):
        return record
    flags = flags_of(row)
    actions = record.get("predicted_actions")
    calls = [target for target, criterion, _ in row.parts if criterion == "name_matches"]
    lists = [list(names) if isinstance(names, list) else [] for names in before]
    for position, (call, names) in enumerate(zip(calls, lists, strict=False)):
        known = _arguments(actions[position]) if isinstance(actions, list) and position < len(actions) else {}
        for target, flagged in flags.items():
            part = part_of(target)
            if part is None or part.argument is None or call_of(target) != call:
                continue
            name = known.get(part.argument, part.argument)
            if flagged and name not in names:
                names.append(name)
            elif not flagged and name in names:
                names.remove(name)
    return record | {"hallucinated_parameters": lists}


def _arguments(action: Any) -> dict[str, str]:
    """Path -> name of the arguments of `{function: {argument: value}}`."""
    inner = next(iter(action.values()), None) if isinstance(action, dict) else None
    return {child("", str(name)): str(name) for name in inner} if isinstance(inner, dict) else {}


def labels_record(record: Json, row: Scored) -> Json:
    labels = row.overruled.get((RESPONSE, acts.CRITERION))
    if not isinstance(labels, list):
        return record
    golden = row.more.get(acts.GOLDEN)
    found = record | {"predicted_dialog_acts": labels}
    if "match" in found and isinstance(golden, list):
        found["match"] = acts.acts_match(labels, golden)
    return found
