"""Dialog-act records: the golden reply and its labels against the predicted reply and the labels a judge gave it."""

from __future__ import annotations

from typing import Any

from fcreview.importers.confetti.metrics import acts_match
from fcreview.importers.confetti.sources import Sources
from fcreview.model import Item, Message, Verdict


def fill(item: Item, result: Any, answer: dict[str, Any] | None, known: str, sources: Sources) -> None:
    text = result if isinstance(result, str) else str(result)
    turn = item.n_turns - 1
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", text))
    golden = answer.get("ground_truth") if answer else None
    if answer:
        item.extra["golden dialog acts"] = golden
        item.extra["golden reply"] = answer.get("ground_truth_content")
    judged = sources.act_judge.get(known)
    if judged is None:
        item.rule_note = "no judge labels: nothing to compare the golden labels with"
        return
    labels = judged.get("predicted_dialog_acts")
    labels = [str(label) for label in labels] if isinstance(labels, list) else []
    by = str(judged.get("judge_model") or "judge")
    reply = judged.get("response")
    said = str(reply) if reply is not None else None
    item.verdicts.append(Verdict("judge", labels, "response", "dialog_act", None, said, by))
    if isinstance(golden, list):
        item.rule = acts_match(labels, golden)
        item.rule_error_type = None if item.rule else "dialog_act:no_overlap"
        reason = f"labels {', '.join(labels) or 'none'}; golden {', '.join(map(str, golden))}"
        item.verdicts.append(
            Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=reason, by="label overlap")
        )
        item.judge = item.rule
        item.first_difference = None if item.rule else reason
