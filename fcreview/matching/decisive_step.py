"""Guess the decisive step of a failed conversation: the message after which the conversation could
no longer succeed.

fcreview guesses the step from facts: the golden actions and their order, unexpected calls that
change something, refused calls, expected texts, and the messages of the user. No LLM judges the
step. An annotator can confirm or change the guess. docs/decisive-step.md lists the kinds of steps.
The module `decisive_call` guesses the step for items whose calls are paired with golden calls.

A writing call is a call that changes something. A refused writing call is wrong only if no other
writing call is wrong. A wrong or missing action fails the item even if all expected texts are in
the replies. fcreview therefore checks the expected texts only if no action or calculation is wrong.
If several messages qualify, the earliest one is decisive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from fcreview.matching.conversation import (
    ChatMessage,
    ObjectDescriptions,
    build_chat_messages,
    extract_words,
    is_refusal,
)
from fcreview.model.item import AcceptedValues, Call, Item, Verdict
from fcreview.model.json_value import abbreviate, canonical_json
from fcreview.model.verdict import DECISIVE_STEP

GUESS = "guess from facts"
MAX_COMPARISONS = 1_000_000
"""Number of comparisons of calls from which no step is guessed.

Published conversations need at most some thousands.
"""
READING_VERBS = frozenset(
    {
        "calculate",
        "check",
        "compare",
        "count",
        "display",
        "fetch",
        "find",
        "get",
        "list",
        "lookup",
        "read",
        "search",
        "show",
        "think",
        "verify",
        "view",
    }
)
"""First words in the names of functions that change nothing.

They suffice for all functions of tau-bench.
"""
CALCULATION = "calculate"
"""Name of the function that computes an expression.

It changes nothing, but the model tells the user its result.
"""
FREE_TEXT_WORDS = 6
"""Minimum number of words of a free text, such as the summary of a transfer.

Free texts are not compared.
"""
MIN_SHARED_NUMBERS = 2
"""Minimum number of numbers that a wrong calculation shares with a golden calculation.

One may be chance.
"""
MIN_SHARE = 0.5
"""Minimum share, from 0 to 1, of the golden calculation's numbers that also occur in the wrong
calculation.
"""
MIN_DIGITS = 2
"""Minimum number of digits in a whole number for which fcreview searches the replies."""
MIN_IDENTIFIER_LENGTH = 3
"""Minimum length, in characters, of a value for which fcreview searches the messages."""
HANDOVER_WORDS = frozenset({"human", "agent", "representative", "supervisor", "person", "someone"})
"""Words with which users ask for a human agent.

The name of a handover function also contains one of these words.
"""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_STATED_NUMBER = re.compile(r"(?<![\w#.,-])\$?(\d[\d,]*(?:\.\d+)?)(?![\w-]|\.\d)")
_LIST_NUMBER = re.compile(r"(?m)(?:^|\s)\d{1,2}\.\s")
_RETRACTION = re.compile(
    r"\b(?:actually|no need|never ?mind|forget (?:it|about)|(?:let'?s |just )?(?:leave|skip|keep)\b"
    r"|don'?t (?:want|need))",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:unfortunately|can(?:no|')t|can not|unable to|not able to|not possible)\b", re.IGNORECASE
)
_PROPOSAL = re.compile(
    r"\b(?:confirm|would you like|shall i|should i|do you want|proceed)\b", re.IGNORECASE
)


_WORD_BOUNDARY = re.compile(r"[_.\-\s]|(?<=[a-z])(?=[A-Z])")
"""Matches between the words of a name in any style: `get_user`, `getUser`, `get-user`."""


@dataclass(frozen=True, slots=True)
class DecisiveStep:
    message: int
    """Number of the message in `build_chat_messages`, from 1."""
    _: KW_ONLY
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Write:
    """A call that changes something, and the number of its message, from 1."""

    call: Call
    message: int
    refused: bool
    by_user: bool
    """Whether a simulated user made the call.

    Such a call can match a golden action, but is never wrong.
    """


def find_decisive_step(
    messages: Sequence[ChatMessage], golden: Sequence[Call], missing_texts: Sequence[str] = ()
) -> DecisiveStep | None:
    """Return the decisive step of a failed conversation: the message with which the model failed.

    None if no fact suggests a step. `golden` are the golden actions in order. `missing_texts` are
    the expected texts that no reply contains.
    """
    has_reply = any(message.role == "assistant" for message in messages)
    if not has_reply or not (golden or missing_texts):
        return None
    if _is_too_large(messages, golden):
        return None

    # Wrong changes of data and wrong calculations come first. Missing actions and wrong answers
    # often follow from them.
    facts = _Facts(messages, golden)
    steps = list(facts.find_wrong_writes())
    if not steps and facts.missing_action_indexes:
        steps.append(facts.explain_missing_action())
    steps.extend(facts.find_wrong_calculations())
    if not steps:
        steps.extend(facts.find_wrong_answers(missing_texts))
    return min(steps, key=lambda step: step.message, default=None)


def _is_too_large(messages: Sequence[ChatMessage], golden: Sequence[Call]) -> bool:
    """Whether a search for the step would take long, because each call is compared with each
    golden action and with the messages before it.
    """
    n_calls = sum(len(message.calls) for message in messages)
    return n_calls * (len(golden) + len(messages)) > MAX_COMPARISONS


def add_decisive_step(item: Item, missing_texts: Sequence[str] = ()) -> None:
    """Guess the decisive step of an item that fails, and add it as a recomputed verdict."""
    fails = item.official is False or (item.official is None and item.rule is False)
    if fails:
        messages = build_chat_messages(item)
        add_guessed_step(item, find_decisive_step(messages, item.golden, missing_texts))


def add_guessed_step(item: Item, step: DecisiveStep | None) -> None:
    """Add a guessed step, unless it is None, to an item as a recomputed verdict."""
    if step is None:
        return
    item.decisive_step = step.kind
    item.verdicts.append(
        Verdict(
            "rule",
            step.message,
            criterion=DECISIVE_STEP,
            error_type=step.kind,
            rationale=step.reason,
            by=GUESS,
        )
    )


def is_read_only(function_name: str) -> bool:
    """Whether the first word of a function's name suggests that the function only reads data."""
    name_without_module = function_name.rpartition(".")[2]
    first_word = _WORD_BOUNDARY.split(name_without_module)[0]
    return first_word.lower() in READING_VERBS


class _Facts:
    """Calls that write data, and tool results, of a conversation.

    The calls are matched with the golden actions.
    """

    def __init__(self, messages: Sequence[ChatMessage], golden: Sequence[Call]) -> None:
        """Collect the calls that write data, and compare them with the golden actions."""
        self.messages = messages
        self.golden = [call for call in golden if not is_read_only(call.name)]
        self.golden_calculations = [call for call in golden if call.name == CALCULATION]
        results_by_call = {
            message.call_id: message.content
            for message in messages
            if message.role == "tool" and message.call_id
        }
        self.results = list(results_by_call.values())
        self.writes = list(_list_writes(messages, results_by_call))

        # `_match_writes` divides the calls that write data into these four.
        self.done: dict[int, _Write] = {}
        """Index of a golden action -> the call that performed the action."""
        self.wrong: list[_Write] = []
        self.handovers: list[_Write] = []
        """Calls that hand the conversation over to a human agent, although no golden action does
        so.
        """
        self.refused: dict[int, _Write] = {}
        """Index of a golden action -> the refused call that equals it."""
        self._match_writes()

    @property
    def missing_action_indexes(self) -> list[int]:
        return [index for index in range(len(self.golden)) if index not in self.done]

    def collect_descriptions(self, before_message: int | None = None) -> ObjectDescriptions:
        """Collect names and options of objects from all tool results, or from those before a
        message number.
        """
        messages = self.messages
        if before_message is not None:
            # Messages are numbered from 1.
            messages = messages[: before_message - 1]
        descriptions = ObjectDescriptions()
        descriptions.add_tool_results(
            message.content for message in messages if message.role == "tool"
        )
        return descriptions

    def _match_writes(self) -> None:
        """Match the calls that change data with the golden actions, and find the calls that are
        wrong. This fills `done`, `wrong`, `handovers` and `refused`.
        """
        for write in self.writes:
            self._match_write(write)

        # Refused calls changed nothing. They are to blame only if no other call is, and if the
        # model did not repair them.
        accepted = [write for write in self.wrong if not write.refused]
        not_repaired = [write for write in self.wrong if not self._is_repaired_later(write)]
        self.wrong = accepted or not_repaired

    def _match_write(self, write: _Write) -> None:
        """Add a call that changes data to `done`, `refused`, `handovers` or `wrong`, depending on
        how it relates to the golden actions.

        A wrong call of the simulated user is not added, because it is not the model's fault.
        """
        equal_indexes = [
            index
            for index, action in enumerate(self.golden)
            if _has_same_effect(action, write.call)
        ]
        open_indexes = [index for index in equal_indexes if index not in self.done]

        # The environment refused a call that equals a golden action.
        if equal_indexes and write.refused:
            first_index, *_ = open_indexes or equal_indexes
            self.refused[first_index] = write
            return
        # The call performs a golden action that was not done yet.
        if open_indexes:
            first_index, *_ = open_indexes
            self.done[first_index] = write
            return
        # A call of the simulated user is not the model's fault.
        if write.by_user:
            return
        if _is_handover(write.call):
            self.handovers.append(write)
        else:
            self.wrong.append(write)

    def _is_repaired_later(self, write: _Write) -> bool:
        """Whether a golden action of the same function was performed after a call."""
        for index, done_write in self.done.items():
            is_later = done_write.message > write.message
            if is_later and self.golden[index].name == write.call.name:
                return True
        return False

    def find_wrong_writes(self) -> Iterator[DecisiveStep]:
        """Yield a step for each wrong writing call, and for each golden action that came too early,
        so that the environment refused another golden action that should have come before it.
        """
        for write in self.wrong:
            step = self._find_user_fault(write)
            if step is None:
                reason = self._explain_wrong_write(write)
                step = DecisiveStep(write.message, kind="wrong_write", reason=reason)
            yield step

        for index, write in self.refused.items():
            if index in self.done:
                continue
            early = self._find_too_early_write(index, write)
            if early is not None:
                reason = (
                    f"{early.call.name} was called first. The environment then refused"
                    f" {write.call.name}."
                )
                yield DecisiveStep(early.message, kind="wrong_order", reason=reason)

    def _find_too_early_write(self, refused_index: int, refused_write: _Write) -> _Write | None:
        """Return a call before `refused_write` that performed a later golden action on the same
        object, or None.
        """
        refused_objects = set(_list_identifiers(refused_write.call.arguments or {}))
        for index, write in self.done.items():
            is_later_action = index > refused_index
            is_earlier_call = write.message < refused_write.message
            objects = _list_identifiers(write.call.arguments or {})
            if is_later_action and is_earlier_call and refused_objects.intersection(objects):
                return write
        return None

    def _explain_wrong_write(self, write: _Write) -> str:
        """Explain in one sentence why a call that changes data is wrong: no golden action calls its
        function, or the first different argument of the most similar one.
        """
        function = write.call.name
        similar_action = self._find_most_similar_action(write.call)
        if similar_action is None:
            return f"{function} changes data, and no golden action calls it."

        given = write.call.arguments or {}
        wanted = _get_first_accepted_values(similar_action)
        for name in {**wanted, **given}:
            if _is_same_argument(wanted.get(name), given.get(name)):
                continue
            difference = _find_innermost_difference(name, given.get(name), wanted.get(name))
            return (
                f"{function} has {difference.path} {abbreviate(difference.predicted)}, but the"
                f" golden action has {abbreviate(difference.golden)}."
            )
        return f"{function} was called again with the arguments of an earlier golden action."

    def _find_most_similar_action(self, call: Call) -> Call | None:
        """Return the golden action of the same function with the most equal arguments. Actions that
        were not done yet come first.
        """
        given = call.arguments or {}

        def compute_rank(index: int) -> tuple[bool, int]:
            """Rank open actions first, then those with more arguments equal to the call's."""
            is_open = index not in self.done
            wanted = _get_first_accepted_values(self.golden[index])
            n_equal = sum(
                _is_same_argument(value, given.get(name)) for name, value in wanted.items()
            )
            return is_open, n_equal

        indexes = [index for index, action in enumerate(self.golden) if action.name == call.name]
        if not indexes:
            return None
        return self.golden[max(indexes, key=compute_rank)]

    def _find_user_fault(self, write: _Write) -> DecisiveStep | None:
        """Return the step at which the user asked for a wrong call, or None if the call is the
        model's fault.

        Values that differ from the most similar golden action may come from the user's messages. A
        user who withdraws a value that the action needs comes first. Else the user may have made a
        wrong choice or, if the call has no wrong value but too few, an incomplete one.
        """
        similar_action = self._find_most_similar_action(write.call)
        if similar_action is None:
            return None

        descriptions = self.collect_descriptions(write.message)
        user = _UserMessages(self.messages, write.message, descriptions)
        given_arguments = write.call.arguments or {}
        golden_arguments = _get_first_accepted_values(similar_action)
        given_values = _list_identifiers(given_arguments)
        golden_values = _list_identifiers(golden_arguments)
        wrong_values = [value for value in given_values if value not in golden_values]
        omitted_values = [value for value in golden_values if value not in given_values]

        # If all objects are right, the user may have named a wrong payment method.
        if not wrong_values and not omitted_values:
            return user.find_payment_choice(
                _list_payment_methods(given_arguments), _list_payment_methods(golden_arguments)
            )

        step = user.find_retraction(omitted_values)
        if step is not None:
            return step
        if wrong_values:
            return user.find_wrong_choice(wrong_values)
        return user.find_incomplete_choice(given_values, omitted_values)

    def find_wrong_calculations(self) -> Iterator[DecisiveStep]:
        """Yield a step for each calculation that shares numbers with a golden calculation but
        does not equal one.
        """
        golden_numbers = [
            _count_numbers(_get_first_accepted_values(calculation))
            for calculation in self.golden_calculations
        ]
        for number, message in enumerate(self.messages, start=1):
            if message.role != "assistant":
                continue
            for call in message.calls:
                if call.name == CALCULATION and _is_wrong_calculation(call, golden_numbers):
                    reason = "The numbers differ from those of the golden calculation."
                    yield DecisiveStep(number, kind="wrong_calculation", reason=reason)

    def find_wrong_answers(self, missing_texts: Sequence[str]) -> Iterator[DecisiveStep]:
        """Yield a step for each expected text that no reply contains."""
        for text in missing_texts:
            yield self._explain_missing_answer(text)

    def _explain_missing_answer(self, text: str) -> DecisiveStep:
        """Return the step at which the model should have said an expected text, but did not.

        It is a message that the user does not see, a reply with another number, or the last reply.
        """
        expected = text.lower().replace(",", "")
        replies = self._list_replies()
        for number, reply in replies:
            if reply.calls and expected in reply.content.lower().replace(",", ""):
                reason = (
                    f"{abbreviate(text)} is only in a message with a call. The user does not see"
                    " such messages."
                )
                return DecisiveStep(number, kind="unseen_answer", reason=reason)

        for number, reply in replies:
            if self._misstates(reply, expected):
                reason = (
                    "This reply states a different value, and none of the replies contains"
                    f" {abbreviate(text)}."
                )
                return DecisiveStep(number, kind="wrong_answer", reason=reason)

        last_number, _ = replies[-1]
        reason = f"No reply contains {abbreviate(text)}."
        return DecisiveStep(last_number, kind="missing_answer", reason=reason)

    def _misstates(self, reply: ChatMessage, expected: str) -> bool:
        """Whether a reply probably states a wrong version of the expected number."""
        stated_numbers = _list_stated_numbers(reply.content)
        return any(self._is_misstated_number(expected, stated) for stated in stated_numbers)

    def _list_replies(self) -> list[tuple[int, ChatMessage]]:
        """Return (number of the message from 1, message) of each reply of the model."""
        return [
            (number, message)
            for number, message in enumerate(self.messages, start=1)
            if message.role == "assistant"
        ]

    def _is_misstated_number(self, expected: str, stated: str) -> bool:
        """Whether a number in a reply is probably a wrong version of the expected number.

        Both must be integers, or both must have a decimal point. A stated integer counts if it is
        as long as the expected one. A stated number with a decimal point counts if no result of a
        tool contains it.
        """
        if not _NUMBER.fullmatch(expected):
            return False
        is_decimal = "." in expected
        has_same_form = ("." in stated) == is_decimal
        if not has_same_form:
            return False
        if is_decimal:
            return not any(stated in result for result in self.results)
        return len(stated) == len(expected) >= MIN_DIGITS

    def explain_missing_action(self) -> DecisiveStep:
        """Return the step at which the model declined, handed the conversation over, or forgot
        an action.
        """
        name = self.golden[self.missing_action_indexes[0]].name
        return (
            self._find_declined_request(name)
            or self._find_early_handover(name)
            or self._explain_forgotten_action(name)
        )

    def _find_declined_request(self, function_name: str) -> DecisiveStep | None:
        """Return the last reply that declines a request about a missing action, or the user's
        rejection that led to it.
        """
        topics = [_get_topic_words(self.golden[index]) for index in self.missing_action_indexes]
        for number, reply in reversed(self._list_replies()):
            if not _REFUSAL.search(reply.content):
                continue
            words = extract_words(reply.content)
            if not any(topic & words for topic in topics):
                continue

            rejection = self._find_rejection_before(number)
            if rejection is not None:
                reason = "The user rejects the model's proposal."
                return DecisiveStep(rejection, kind="user_retraction", reason=reason)
            reason = f"The model declines. {self._explain_missing_action(function_name)}"
            return DecisiveStep(number, kind="refused_request", reason=reason)
        return None

    def _find_early_handover(self, function_name: str) -> DecisiveStep | None:
        """Return the first handover to a human agent that the user did not ask for."""
        for write in self.handovers:
            asked_words = self._get_last_words_of_user(write.message)
            if not asked_words & HANDOVER_WORDS:
                reason = (
                    f"{write.call.name} is called, but {function_name} is not called before it."
                )
                return DecisiveStep(write.message, kind="early_end", reason=reason)
        return None

    def _get_last_words_of_user(self, before_message: int) -> set[str]:
        for message in reversed(self.messages[: before_message - 1]):
            if message.role == "user":
                return extract_words(message.content)
        return set()

    def _explain_forgotten_action(self, function_name: str) -> DecisiveStep:
        """Return the step at which the model forgot a golden action, a call that was necessary.

        It is the reply after the last message in which the user names a value that the action
        needs. If the user never names one, it is the last reply. But if the user had to choose from
        values that the results of tools describe, the user made the mistake.
        """
        needed_values: list[str] = []
        for index in self.missing_action_indexes:
            needed_values += _list_identifiers(_get_first_accepted_values(self.golden[index]))

        user = self._collect_user_messages()
        mentions: list[int] = []
        for value in needed_values:
            mentions += user.find_messages_with(value)
        if mentions:
            step = self._find_reply_after(max(mentions))
            reason = self._explain_missing_action(function_name)
            return DecisiveStep(step, kind="missing_action", reason=reason)

        has_choice = any(user.descriptions.has_description(value) for value in needed_values)
        if has_choice and user.turns_latest_first:
            last_number, _ = user.turns_latest_first[0]
            reason = f"The user never states the values that {function_name} needs."
            return DecisiveStep(last_number, kind="user_omission", reason=reason)

        last_reply, _ = self._list_replies()[-1]
        reason = self._explain_missing_action(function_name)
        return DecisiveStep(last_reply, kind="missing_action", reason=reason)

    def _collect_user_messages(self) -> _UserMessages:
        """Return all messages of the user, with the descriptions in all results of tools."""
        # Messages are numbered from 1, so all of them come before this number.
        after_all_messages = len(self.messages) + 1
        return _UserMessages(self.messages, after_all_messages, self.collect_descriptions())

    def _explain_missing_action(self, function_name: str) -> str:
        made_calls = [write.call for write in self.writes]
        return explain_missing_call(function_name, made_calls)

    def _find_reply_after(self, message_number: int) -> int:
        """Return the number of the first reply after a message; the last reply if none follows."""
        reply_numbers = [number for number, _ in self._list_replies()]
        for number in reply_numbers:
            if number > message_number:
                return number
        return reply_numbers[-1]

    def _find_rejection_before(self, message_number: int) -> int | None:
        """Return the number of the message in which the user rejects a proposal of the model.

        Only the last two messages before `message_number` count: the first must be a proposal, the
        second its rejection. Otherwise, returns None.
        """
        spoken_numbers = [
            number
            for number in range(1, message_number)
            if self.messages[number - 1].role in ("user", "assistant")
        ]
        if len(spoken_numbers) < 2:
            return None

        *_, proposal_number, answer_number = spoken_numbers
        # Numbers of messages begin at 1.
        proposal = self.messages[proposal_number - 1]
        answer = self.messages[answer_number - 1]
        is_proposal = proposal.role == "assistant" and _PROPOSAL.search(proposal.content)
        is_rejection = answer.role == "user" and _RETRACTION.search(answer.content)
        return answer_number if is_proposal and is_rejection else None


class _UserMessages:
    def __init__(
        self, messages: Sequence[ChatMessage], before: int, descriptions: ObjectDescriptions
    ) -> None:
        """Select the user's messages before the message with the number `before`.

        `descriptions` has the objects, such as flights, that results of tools described until then.
        """
        texts = [
            (number, message.content)
            for number, message in enumerate(messages, start=1)
            if message.role == "user" and number < before and message.content
        ]
        self.turns_latest_first = texts[::-1]
        """(number, text) of these messages."""
        self.descriptions = descriptions

    def find_messages_with(self, value: str) -> list[int]:
        """Return the numbers of the user's messages that contain a value, or name the object
        whose id it is, the latest message first.
        """
        return [
            number
            for number, text in self.turns_latest_first
            if value.lower() in text.lower()
            or self.descriptions.is_named_in(value, extract_words(text))
        ]

    def find_retraction(self, omitted_values: Sequence[str]) -> DecisiveStep | None:
        """Return a step at the last message that withdraws one of the omitted values."""
        for number, text in self.turns_latest_first:
            if not _RETRACTION.search(text):
                continue
            words = extract_words(text)
            if any(self.descriptions.is_named_in(value, words) for value in omitted_values):
                reason = "The user withdraws a value that a golden action needs."
                return DecisiveStep(number, kind="user_retraction", reason=reason)
        return None

    def find_wrong_choice(self, wrong_values: Sequence[str]) -> DecisiveStep | None:
        """Return the step of the last user message that states one of the wrong values, if the user
        stated all of them. The wrong choice was then the user's.
        """
        mentions = [self.find_messages_with(value) for value in wrong_values]
        if not wrong_values or not all(mentions):
            return None
        # The latest mention of a value comes first.
        last_mention = max(numbers[0] for numbers in mentions)
        reason = "The user states values that no golden action contains."
        return DecisiveStep(last_mention, kind="user_choice", reason=reason)

    def find_payment_choice(
        self, given_methods: Sequence[str], golden_methods: Sequence[str]
    ) -> DecisiveStep | None:
        """Return a step at the user's last message with a payment method that no golden action
        uses.
        """
        for method in given_methods:
            if method in golden_methods:
                continue
            # A user names the kind, such as `gift card` for `gift_card_1234`.
            words_of_method = extract_words(method.replace("_", " "))
            kind = {word for word in words_of_method if not word.isdigit()}
            for number, text in self.turns_latest_first:
                if kind and kind <= extract_words(text):
                    reason = "The user chooses a payment method that no golden action uses."
                    return DecisiveStep(number, kind="user_choice", reason=reason)
        return None

    def find_incomplete_choice(
        self, given_values: Sequence[str], omitted_values: Sequence[str]
    ) -> DecisiveStep | None:
        """Return a step at the user's last message that names all described objects of the call, if
        no message names an object that the call omits. The user then did not ask for all objects.

        An object, such as a flight, is described if the result of a tool contains its description.
        """
        described_objects = [
            value for value in given_values if self.descriptions.has_description(value)
        ]
        if not omitted_values or not described_objects:
            return None
        if any(self.find_messages_with(value) for value in omitted_values):
            # The user asked for an object that the call omits, so the model forgot it.
            return None

        for number, text in self.turns_latest_first:
            words = extract_words(text)
            if all(self.descriptions.is_named_in(value, words) for value in described_objects):
                reason = "The user does not name all objects that a golden action needs."
                return DecisiveStep(number, kind="user_choice", reason=reason)
        return None


def _list_writes(
    messages: Sequence[ChatMessage], results_by_call: Mapping[str, str]
) -> Iterator[_Write]:
    """Yield the calls in the conversation that can change data, with whether the environment
    refused them. `results_by_call` maps the id of a call to its result.
    """
    for number, message in enumerate(messages, start=1):
        if message.is_given:
            continue
        for call, call_id in zip(message.calls, message.ids, strict=True):
            if is_read_only(call.name):
                continue
            result = results_by_call.get(call_id, "")
            yield _Write(
                call,
                message=number,
                refused=is_refusal(result),
                by_user=message.role == "user",
            )


def _is_wrong_calculation(call: Call, golden_numbers: Sequence[Counter[str]]) -> bool:
    numbers = _count_numbers(call.arguments)
    if numbers in golden_numbers:
        return False
    return any(_is_similar_calculation(numbers, golden) for golden in golden_numbers)


def explain_missing_call(name: str, made_calls: Iterable[Call], place: str = "") -> str:
    """Return a sentence about a golden call that was not made. If its function was called with
    other arguments, the sentence names those of the last call.

    Args:
        name: Function of the golden call.
        made_calls: Calls of the model.
        place: Where the calls were made, such as ` in turn 2`.
    """
    calls_of_function = [call for call in made_calls if call.name == name]
    if not calls_of_function:
        return f"{name} is never called{place}."
    arguments = abbreviate(calls_of_function[-1].arguments or {})
    return f"{name} is called{place} with {arguments}, but the golden answer has another call."


def _is_handover(call: Call) -> bool:
    parts = extract_words(call.name.replace("_", " "))
    return bool(parts & {"transfer", "escalate"} and parts & HANDOVER_WORDS)


def _get_topic_words(call: Call) -> set[str]:
    """Return the last word of the function's name: `address` for `modify_user_address`."""
    return extract_words(call.name.replace("_", " ").rpartition(" ")[2])


def _get_first_accepted_values(call: Call) -> Mapping[str, Any]:
    values = {}
    for name, value in (call.arguments or {}).items():
        has_accepted_value = isinstance(value, AcceptedValues) and value.any_of
        values[name] = value.any_of[0] if has_accepted_value else value
    return values


def _has_same_effect(golden: Call, predicted: Call) -> bool:
    """Whether a call equals a golden action, except for free texts and the order of lists."""
    if golden.name != predicted.name or predicted.arguments is None:
        return False
    wanted = _get_first_accepted_values(golden)
    given = predicted.arguments
    if wanted.keys() != given.keys():
        return False
    return all(_is_same_argument(value, given[name]) for name, value in wanted.items())


def _is_same_argument(first: Any, second: Any) -> bool:
    """Whether two arguments count as the same. Long texts always do, and lists are compared without
    their order.
    """
    if isinstance(first, str) and isinstance(second, str):
        are_free_texts = min(len(first.split()), len(second.split())) >= FREE_TEXT_WORDS
        return are_free_texts or first.strip().lower() == second.strip().lower()
    if isinstance(first, list) and isinstance(second, list):
        return Counter(map(canonical_json, first)) == Counter(map(canonical_json, second))
    return canonical_json(first) == canonical_json(second)


@dataclass(frozen=True, slots=True)
class _ValueDifference:
    path: str
    _: KW_ONLY
    predicted: Any
    golden: Any


def _find_innermost_difference(path: str, given: Any, wanted: Any) -> _ValueDifference:
    """Return the first nested value that differs.

    For lists of different lengths, return the lengths.
    """
    are_lists = isinstance(given, list) and isinstance(wanted, list)
    if are_lists and len(given) != len(wanted):
        return _ValueDifference(f"number of {path}", predicted=len(given), golden=len(wanted))
    for inner_path, inner_given, inner_wanted in _list_inner_values(path, given, wanted):
        if not _is_same_argument(inner_given, inner_wanted):
            return _find_innermost_difference(inner_path, inner_given, inner_wanted)
    return _ValueDifference(path, predicted=given, golden=wanted)


def _list_inner_values(path: str, given: Any, wanted: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, given value, wanted value) of the values in two objects or lists. Objects with
    different keys have no common values, and lists must have the same length.
    """
    if isinstance(given, dict) and isinstance(wanted, dict) and given.keys() == wanted.keys():
        for name, value in given.items():
            yield f"{path}.{name}", value, wanted[name]
    elif isinstance(given, list) and isinstance(wanted, list):
        for index, (given_element, wanted_element) in enumerate(zip(given, wanted, strict=True)):
            yield f"{path}[{index}]", given_element, wanted_element


def _list_identifiers(arguments: Mapping[str, Any]) -> list[str]:
    """Return the values that identify objects such as orders: those with a digit, without users
    and payment methods.
    """
    identifiers: list[str] = []
    for name, value in arguments.items():
        if "payment" not in name and name != "user_id":
            identifiers.extend(_iter_texts_with_digit(value))
    return identifiers


def _list_payment_methods(arguments: Mapping[str, Any]) -> list[str]:
    methods: list[str] = []
    for name, value in arguments.items():
        if "payment" in name:
            methods.extend(_iter_texts_with_digit(value))
    return methods


def _iter_texts_with_digit(value: Any) -> Iterator[str]:
    """Yield the nested texts and numbers that look like identifiers: they are long enough, and
    contain a digit.
    """
    if isinstance(value, dict):
        for field in value.values():
            yield from _iter_texts_with_digit(field)
    elif isinstance(value, list):
        for element in value:
            yield from _iter_texts_with_digit(element)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        text = str(value)
        has_digit = any(character.isdigit() for character in text)
        if has_digit and len(text) >= MIN_IDENTIFIER_LENGTH:
            yield text


def _count_numbers(arguments: Mapping[str, Any] | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for value in (arguments or {}).values():
        counts.update(_NUMBER.findall(str(value)))
    return counts


def _is_similar_calculation(numbers: Counter[str], golden_numbers: Counter[str]) -> bool:
    n_shared = (numbers & golden_numbers).total()
    return n_shared >= MIN_SHARED_NUMBERS and n_shared >= MIN_SHARE * golden_numbers.total()


def _list_stated_numbers(text: str) -> list[str]:
    """Return the numbers in a text, without the numbers of its list items."""
    without_emphasis = text.replace("*", "")
    without_list_numbers = _LIST_NUMBER.sub(" ", without_emphasis)
    return [number.replace(",", "") for number in _STATED_NUMBER.findall(without_list_numbers)]
