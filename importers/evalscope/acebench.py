"""Fill items of ACEBench with the rules of the ACEBench importer.

EvalScope checks replies with a checker of its own, written after the official one.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.acebench.agent import fill_agent_item_from_history
from fcreview.importers.acebench.checker import GROUND_TRUTH, MILE_STONE
from fcreview.importers.acebench.decoding import NEWEST_RULE_SET
from fcreview.importers.acebench.dialogue_history import DialogueHistory, HistoryMessage
from fcreview.importers.acebench.read import Reply, grade_reply
from fcreview.importers.common.records import add_issue, read_function_docs
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.evalscope.conversations import add_conversation_issues
from fcreview.importers.evalscope.samples import JsonObject, Sample
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.model.item import Item, Message
from fcreview.model.json_value import answer_hash

SPEAKER = "user: "
"""Beginning of the messages of the simulated user."""
METADATA_TYPES: dict[str, tuple[type, ...]] = {
    "question": (str,),
    "functions": (list,),
    GROUND_TRUTH: (dict, list, str),
}
"""Field of the dataset's record -> its types."""


def fill_acebench_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of ACEBench, which EvalScope ran, with ACEBench's own rules.

    EvalScope writes the question and the golden answer into the metadata of the sample. Missing
    ones become issues.
    """
    add_conversation_issues(item, conversation)
    metadata = sample.metadata
    for name, types in METADATA_TYPES.items():
        if not isinstance(metadata.get(name), types):
            add_issue(item, f"{name} of the metadata is missing or has an unexpected type")
    item.functions = read_function_docs(metadata.get("functions"))
    item.golden_hash = answer_hash([metadata.get(GROUND_TRUTH), metadata.get(MILE_STONE)])
    if item.category.startswith("agent_"):
        _fill_agent_item(item, metadata, conversation)
    else:
        _fill_single_turn_item(item, sample, conversation)


def _fill_single_turn_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item with one reply, and grade the reply by ACEBench's rules.

    The item shows the question of the metadata. If the messages do not contain it, or not the
    reply, there is an issue.
    """
    metadata = sample.metadata
    reply_text = sample.reply_text
    if reply_text is None:
        add_issue(item, "the reply is not a text")
    item.prediction_hash = answer_hash(reply_text)

    reply = Reply(
        reply_text or "",
        question=metadata,
        can_recompute=GROUND_TRUTH in metadata,
        rule_set=NEWEST_RULE_SET,
    )
    grade_reply(item, reply, metadata.get(GROUND_TRUTH))

    if item.category.startswith("normal_multi_turn"):
        item.group = _find_dialogue(item, metadata)
    _compare_with_messages(item, metadata, reply_text, conversation)
    _add_prompt(item, conversation)


def _find_dialogue(item: Item, metadata: JsonObject) -> str | None:
    """Return the dialogue of a step. EvalScope scores all steps of a dialogue together."""
    dialogue = metadata.get("dialogue_id")
    if isinstance(dialogue, str) and dialogue:
        return dialogue
    add_issue(item, "the metadata have no dialogue_id, so the step is a dialogue of its own")
    return None


def _compare_with_messages(
    item: Item, metadata: JsonObject, reply_text: str | None, conversation: ParsedConversation
) -> None:
    """Report that the messages do not contain the question or the reply that the item shows."""

    question = metadata.get("question")
    texts_of_user = [message.text for message in conversation.messages if message.role == "user"]
    if isinstance(question, str) and not any(question in text for text in texts_of_user):
        add_issue(item, "no message of the user contains the question of the metadata")

    replies = [message.text for message in conversation.messages if message.role == "assistant"]
    if reply_text is not None and reply_text not in replies:
        add_issue(item, "no message of the model is the reply in the model output")


def _add_prompt(item: Item, conversation: ParsedConversation) -> None:
    """Show the system prompt before all messages, and the reasoning after them."""
    prompts = [
        Message(turn=0, step=-1, role="system", content=message.text, name="prompt")
        for message in conversation.messages
        if message.role == "system"
    ]
    item.messages = [*prompts, *item.messages]
    last_turn = max(item.n_turns - 1, 0)
    for message in conversation.messages:
        if message.reasoning:
            item.messages.append(
                Message(
                    turn=last_turn,
                    step=0,
                    role="assistant",
                    content=message.reasoning,
                    name="reasoning",
                )
            )


# -- agents


def _fill_agent_item(item: Item, metadata: JsonObject, conversation: ParsedConversation) -> None:
    """Fill an item in which an agent acts on simulated apps, and grade it by ACEBench's rules.

    The metadata has the agent's calls (`process`) and the state of the apps at the end. If the
    agent could not be run, both are missing, and the item is not graded.
    """
    process = metadata.get("process")
    end_state = metadata.get("end_state")
    item.prediction_hash = answer_hash([end_state, process, _list_replies(conversation)])

    result = {"process": process, "result": end_state}
    answer = None if process is None else metadata
    fill_agent_item_from_history(
        item,
        result,
        question=metadata,
        answer=answer,
        history=_make_history(conversation),
    )

    if answer is None:
        item.rule_note = "the rollout failed, so there is no end state to check"
        return
    if not isinstance(process, list) or not isinstance(end_state, list):
        add_issue(item, "process or end_state of the metadata is not a list")
    add_decisive_call(item, only_effect_counts=True)


def _list_replies(conversation: ParsedConversation) -> list[Any]:
    return [message.text for message in conversation.messages if message.role == "assistant"]


def _make_history(conversation: ParsedConversation) -> DialogueHistory:
    """Return the conversation in the form of ACEBench's own dialogue histories."""
    history = DialogueHistory()
    for message in conversation.messages:
        if message.role == "assistant":
            recipient = "execution" if message.calls else "user"
            history.messages.append(
                HistoryMessage(sender="agent", recipient=recipient, content=message.text)
            )
        elif message.role == "user":
            content = message.text.removeprefix(SPEAKER)
            history.messages.append(
                HistoryMessage(sender="user", recipient="agent", content=content)
            )
        for result in message.results:
            history.messages.append(
                HistoryMessage(sender="execution", recipient="agent", content=result.text)
            )
    return history
