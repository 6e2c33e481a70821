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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

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
    """Return the decisive step of a failed conversation, or None if no fact suggests a step.
    `golden` are the golden actions in order. `missing_texts` are the expected texts that no reply
    contains.
    """
    if not any(message.role == "assistant" for message in messages) or not (
        golden or missing_texts
    ):
        return None
    facts = _Facts(messages, golden)
    found = list(facts.find_wrong_writes())
    if not found and facts.missing_action_indexes:
        found = [facts.explain_missing_action()]
    found += facts.find_wrong_calculations()
    found = found or list(facts.find_wrong_answers(missing_texts))
    return min(found, key=lambda step: step.message, default=None)


def add_decisive_step(item: Item, missing_texts: Sequence[str] = ()) -> None:
    """Guess the decisive step of an item that fails, and add it as a recomputed verdict."""
    fails = item.official is False or (item.official is None and item.rule is False)
    add_guessed_step(
        item,
        find_decisive_step(build_chat_messages(item), item.golden, missing_texts)
        if fails
        else None,
    )


def add_guessed_step(item: Item, step: DecisiveStep | None) -> None:
    """Add a guessed step, unless it is None, to an item as a recomputed verdict."""
    if step is not None:
        item.decisive_step = step.kind
        facts = {"error_type": step.kind, "rationale": step.reason, "by": GUESS}
        item.verdicts.append(Verdict("rule", step.message, criterion=DECISIVE_STEP, **facts))


def is_read_only(function_name: str) -> bool:
    """Whether the first word of a function's name suggests that the function only reads data."""
    return (
        re.split(r"[_.\-\s]|(?<=[a-z])(?=[A-Z])", function_name.rpartition(".")[2])[0].lower()
        in READING_VERBS
    )


class _Facts:
    """Calls that write data, and tool results, of a conversation.

    The calls are matched with the golden actions.
    """

    def __init__(self, messages: Sequence[ChatMessage], golden: Sequence[Call]) -> None:
        self.messages = messages
        self.golden = [call for call in golden if not is_read_only(call.name)]
        self.golden_calculations = [call for call in golden if call.name == CALCULATION]
        results = {
            each.call_id: each.content for each in messages if each.role == "tool" and each.call_id
        }
        self.writes = [
            _Write(
                call,
                message=number,
                refused=is_refusal(results.get(call_id, "")),
                by_user=message.role == "user",
            )
            for number, message in enumerate(messages, 1)
            if not message.is_given
            for call, call_id in zip(message.calls, message.ids, strict=True)
            if not is_read_only(call.name)
        ]
        self.results = list(results.values())
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
        found = ObjectDescriptions()
        earlier = self.messages if before_message is None else self.messages[: before_message - 1]
        found.add_tool_results(message.content for message in earlier if message.role == "tool")
        return found

    def _match_writes(self) -> None:
        for write in self.writes:
            equal = [
                index
                for index, call in enumerate(self.golden)
                if _has_same_effect(call, write.call)
            ]
            open_ones = [index for index in equal if index not in self.done]
            if equal and write.refused:
                self.refused[(open_ones or equal)[0]] = write
            elif open_ones:
                self.done[open_ones[0]] = write
            elif write.by_user:
                continue
            elif _is_handover(write.call):
                self.handovers.append(write)
            else:
                self.wrong.append(write)
        accepted = [write for write in self.wrong if not write.refused]
        self.wrong = accepted or [
            write for write in self.wrong if not self._is_repaired_later(write)
        ]

    def _is_repaired_later(self, write: _Write) -> bool:
        later = (
            self.golden[index].name
            for index, each in self.done.items()
            if each.message > write.message
        )
        return write.call.name in later

    def find_wrong_writes(self) -> Iterator[DecisiveStep]:
        """Yield a step for each wrong writing call, and for each golden action that came too early,
        so that the environment refused another golden action that should have come before it.
        """
        for write in self.wrong:
            yield self._find_user_fault(write) or DecisiveStep(
                write.message, kind="wrong_write", reason=self._explain_wrong_write(write)
            )
        for index, write in self.refused.items():
            if index not in self.done:
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
        ids = set(_list_identifiers(refused_write.call.arguments or {}))
        for index, write in self.done.items():
            shares_object = ids & set(_list_identifiers(write.call.arguments or {}))
            if index > refused_index and write.message < refused_write.message and shares_object:
                return write
        return None

    def _explain_wrong_write(self, write: _Write) -> str:
        similar = self._find_most_similar_action(write.call)
        if similar is None:
            return f"{write.call.name} changes data, and no golden action calls it."
        given, wanted = write.call.arguments or {}, _get_first_accepted_values(similar)
        differing = [
            name
            for name in {**wanted, **given}
            if not _is_same_argument(wanted.get(name), given.get(name))
        ]
        if not differing:
            return (
                f"{write.call.name} was called again with the arguments of an earlier golden"
                " action."
            )
        name, own, golden = _find_innermost_difference(
            differing[0], given.get(differing[0]), wanted.get(differing[0])
        )
        return (
            f"{write.call.name} has {name} {abbreviate(own)}, but the golden action has"
            f" {abbreviate(golden)}."
        )

    def _find_most_similar_action(self, call: Call) -> Call | None:
        given = call.arguments or {}

        def compute_similarity(action_index: int) -> tuple[bool, int]:
            """Return whether the golden action was not done yet, and its number of arguments
            equal to the call's.
            """
            golden_values = _get_first_accepted_values(self.golden[action_index])
            n_equal = sum(
                _is_same_argument(value, given.get(name)) for name, value in golden_values.items()
            )
            return action_index not in self.done, n_equal

        same_function = [index for index, each in enumerate(self.golden) if each.name == call.name]
        return self.golden[max(same_function, key=compute_similarity)] if same_function else None

    def _find_user_fault(self, write: _Write) -> DecisiveStep | None:
        similar = self._find_most_similar_action(write.call)
        wanted_arguments = _get_first_accepted_values(similar) if similar else {}
        given, wanted = (
            _list_identifiers(write.call.arguments or {}),
            _list_identifiers(wanted_arguments),
        )
        wrong = [each for each in given if each not in wanted]
        omitted = [each for each in wanted if each not in given]
        user = _UserMessages(self.messages, write.message, self.collect_descriptions(write.message))
        if not wrong and not omitted and similar is not None:
            return user.find_payment_choice(
                _list_payment_methods(write.call.arguments or {}),
                _list_payment_methods(wanted_arguments),
            )
        return (
            user.find_retraction(omitted)
            or (user.find_wrong_choice(wrong) if similar else None)
            or (user.find_incomplete_choice(given, omitted) if similar and not wrong else None)
        )

    def find_wrong_calculations(self) -> Iterator[DecisiveStep]:
        """Yield a step for each calculation that shares numbers with a golden calculation but
        does not equal one.
        """
        for number, message in enumerate(self.messages, 1):
            for call in message.calls if message.role == "assistant" else ():
                if call.name != CALCULATION:
                    continue
                numbers = _count_numbers(call.arguments)
                golden = [
                    _count_numbers(_get_first_accepted_values(each))
                    for each in self.golden_calculations
                ]
                if numbers not in golden and any(
                    _is_similar_calculation(numbers, each) for each in golden
                ):
                    reason = "The numbers differ from those of the golden calculation."
                    yield DecisiveStep(number, kind="wrong_calculation", reason=reason)

    def find_wrong_answers(self, missing_texts: Sequence[str]) -> Iterator[DecisiveStep]:
        """Yield a step for each expected text that no reply contains. The step is at a message that
        contains the text beside a call, else at the first reply with a similar number, else at the
        last reply.
        """
        replies = [
            (n, message)
            for n, message in enumerate(self.messages, 1)
            if message.role == "assistant"
        ]
        for text in missing_texts:
            wanted = text.lower().replace(",", "")
            beside_call = [
                n
                for n, each in replies
                if each.calls and wanted in each.content.lower().replace(",", "")
            ]
            others = [
                n
                for n, each in replies
                if any(
                    self._is_misstated_number(wanted, one)
                    for one in _list_stated_numbers(each.content)
                )
            ]
            if beside_call:
                reason = (
                    f"{abbreviate(text)} is only in a message with a call. The user does not see"
                    " such messages."
                )
                yield DecisiveStep(beside_call[0], kind="unseen_answer", reason=reason)
            elif others:
                reason = (
                    "This reply states a different value, and none of the replies contains"
                    f" {abbreviate(text)}."
                )
                yield DecisiveStep(others[0], kind="wrong_answer", reason=reason)
            else:
                yield DecisiveStep(
                    replies[-1][0],
                    kind="missing_answer",
                    reason=f"No reply contains {abbreviate(text)}.",
                )

    def _is_misstated_number(self, expected: str, stated: str) -> bool:
        if not _NUMBER.fullmatch(expected) or ("." in expected) != ("." in stated):
            return False
        if "." in expected:
            return not any(stated in result for result in self.results)
        return len(stated) == len(expected) >= MIN_DIGITS

    def explain_missing_action(self) -> DecisiveStep:
        """Return the step at which the model declined, handed the conversation over, or forgot
        an action.
        """
        name = self.golden[self.missing_action_indexes[0]].name
        topics = [_get_topic_words(self.golden[index]) for index in self.missing_action_indexes]
        for number in range(len(self.messages), 0, -1):
            message = self.messages[number - 1]
            declines = message.role == "assistant" and _REFUSAL.search(message.content)
            if declines and any(topic & extract_words(message.content) for topic in topics):
                retraction = self._find_retraction_before(number)
                if retraction is not None:
                    return DecisiveStep(
                        retraction,
                        kind="user_retraction",
                        reason="The user rejects the model's proposal.",
                    )
                return DecisiveStep(
                    number,
                    kind="refused_request",
                    reason=f"The model declines, and {name} is never called.",
                )
        for write in self.handovers:
            asked = next(
                (
                    extract_words(m.content)
                    for m in self.messages[write.message - 2 :: -1]
                    if m.role == "user"
                ),
                set(),
            )
            if not asked & HANDOVER_WORDS:
                reason = f"{write.call.name} is called, but {name} is not called before it."
                return DecisiveStep(write.message, kind="early_end", reason=reason)
        return self._explain_forgotten_action(name)

    def _explain_forgotten_action(self, function_name: str) -> DecisiveStep:
        user = _UserMessages(self.messages, len(self.messages) + 1, self.collect_descriptions())
        wanted = [
            each
            for index in self.missing_action_indexes
            for each in _list_identifiers(_get_first_accepted_values(self.golden[index]))
        ]
        known = [each for each in wanted if user.descriptions.has_description(each)]
        named = max(
            (number for each in wanted for number in user.find_messages_with(each)), default=None
        )
        if named is None and known and user.turns:
            reason = f"The user never states the values that {function_name} needs."
            return DecisiveStep(user.turns[0][0], kind="user_omission", reason=reason)
        replies = [
            number for number, message in enumerate(self.messages, 1) if message.role == "assistant"
        ]
        reply = next(
            (number for number in replies if named is not None and number > named), replies[-1]
        )
        return DecisiveStep(
            reply, kind="missing_action", reason=f"{function_name} is never called."
        )

    def _find_retraction_before(self, message_number: int) -> int | None:
        earlier = [
            n
            for n in range(message_number - 1, 0, -1)
            if self.messages[n - 1].role in ("user", "assistant")
        ][:2]
        if len(earlier) < 2:
            return None
        user, proposal = (self.messages[n - 1] for n in earlier)
        is_rejected = user.role == "user" and _RETRACTION.search(user.content)
        is_proposal = proposal.role == "assistant" and _PROPOSAL.search(proposal.content)
        return earlier[0] if is_rejected and is_proposal else None


class _UserMessages:
    def __init__(
        self, messages: Sequence[ChatMessage], before: int, descriptions: ObjectDescriptions
    ) -> None:
        texts = [
            (n, m.content)
            for n, m in enumerate(messages, 1)
            if m.role == "user" and n < before and m.content
        ]
        self.turns = texts[::-1]
        """(number, text) of the user's messages before the message with the number `before`,
        latest first.
        """
        self.descriptions = descriptions

    def find_messages_with(self, value: str) -> list[int]:
        """Return the numbers of the user's messages that contain a value, or name the object
        whose id it is.
        """
        return [
            number
            for number, text in self.turns
            if value.lower() in text.lower()
            or self.descriptions.is_named_in(value, extract_words(text))
        ]

    def find_retraction(self, omitted_values: Sequence[str]) -> DecisiveStep | None:
        for number, text in self.turns:
            words = extract_words(text)
            if _RETRACTION.search(text) and any(
                self.descriptions.is_named_in(each, words) for each in omitted_values
            ):
                return DecisiveStep(
                    number,
                    kind="user_retraction",
                    reason="The user withdraws a value that a golden action needs.",
                )
        return None

    def find_wrong_choice(self, wrong_values: Sequence[str]) -> DecisiveStep | None:
        """Return a step at the last message that states one of the wrong values, if the user
        stated all of them.
        """
        mentions = [self.find_messages_with(each) for each in wrong_values]
        if not wrong_values or not all(mentions):
            return None
        last = max(numbers[0] for numbers in mentions)
        return DecisiveStep(
            last,
            kind="user_choice",
            reason="The user states values that no golden action contains.",
        )

    def find_payment_choice(
        self, given_methods: Sequence[str], golden_methods: Sequence[str]
    ) -> DecisiveStep | None:
        """Return a step at the user's last message with a payment method that no golden action
        uses.
        """
        for each in given_methods:
            kind = {word for word in extract_words(each.replace("_", " ")) if not word.isdigit()}
            numbers = [
                number for number, text in self.turns if kind and kind <= extract_words(text)
            ]
            if each not in golden_methods and numbers:
                reason = "The user chooses a payment method that no golden action uses."
                return DecisiveStep(numbers[0], kind="user_choice", reason=reason)
        return None

    def find_incomplete_choice(
        self, given_values: Sequence[str], omitted_values: Sequence[str]
    ) -> DecisiveStep | None:
        """Return a step at the last message that names all described objects of the call, if no
        message names an omitted object.
        """
        named = [each for each in given_values if self.descriptions.has_description(each)]
        if (
            not omitted_values
            or not named
            or any(self.find_messages_with(each) for each in omitted_values)
        ):
            return None
        for number, text in self.turns:
            if all(self.descriptions.is_named_in(each, extract_words(text)) for each in named):
                reason = "The user does not name all objects that a golden action needs."
                return DecisiveStep(number, kind="user_choice", reason=reason)
        return None


def _is_handover(call: Call) -> bool:
    parts = extract_words(call.name.replace("_", " "))
    return bool(parts & {"transfer", "escalate"} and parts & HANDOVER_WORDS)


def _get_topic_words(call: Call) -> set[str]:
    """Return the last word of the function's name: `address` for `modify_user_address`."""
    return extract_words(call.name.replace("_", " ").rpartition(" ")[2])


def _get_first_accepted_values(call: Call) -> Mapping[str, Any]:
    return {
        name: value.any_of[0] if isinstance(value, AcceptedValues) and value.any_of else value
        for name, value in (call.arguments or {}).items()
    }


def _has_same_effect(golden: Call, predicted: Call) -> bool:
    """Whether a call equals a golden action, except for free texts and the order of lists."""
    if golden.name != predicted.name or predicted.arguments is None:
        return False
    wanted = _get_first_accepted_values(golden)
    return wanted.keys() == predicted.arguments.keys() and all(
        _is_same_argument(value, predicted.arguments[name]) for name, value in wanted.items()
    )


def _is_same_argument(first: Any, second: Any) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        are_free = min(len(first.split()), len(second.split())) >= FREE_TEXT_WORDS
        return are_free or first.strip().lower() == second.strip().lower()
    if isinstance(first, list) and isinstance(second, list):
        return Counter(map(canonical_json, first)) == Counter(map(canonical_json, second))
    return canonical_json(first) == canonical_json(second)


class _ValueDifference(NamedTuple):
    path: str
    predicted: Any
    golden: Any


def _find_innermost_difference(path: str, given: Any, wanted: Any) -> _ValueDifference:
    """Return the first nested value that differs.

    For lists of different lengths, return the lengths.
    """
    inner: list[tuple[str, Any, Any]] = []
    if isinstance(given, dict) and isinstance(wanted, dict) and given.keys() == wanted.keys():
        inner = [(f"{path}.{name}", each, wanted[name]) for name, each in given.items()]
    elif isinstance(given, list) and isinstance(wanted, list) and len(given) == len(wanted):
        inner = [
            (f"{path}[{at}]", *each) for at, each in enumerate(zip(given, wanted, strict=True))
        ]
    elif isinstance(given, list) and isinstance(wanted, list):
        return _ValueDifference(f"number of {path}", predicted=len(given), golden=len(wanted))
    differences = (
        _find_innermost_difference(*each) for each in inner if not _is_same_argument(*each[1:])
    )
    return next(differences, _ValueDifference(path, predicted=given, golden=wanted))


def _list_identifiers(arguments: Mapping[str, Any]) -> list[str]:
    """Return the values that identify objects such as orders: those with a digit, without users
    and payment methods.
    """
    return [
        value
        for name, each in arguments.items()
        if "payment" not in name and name != "user_id"
        for value in _iter_texts_with_digit(each)
    ]


def _list_payment_methods(arguments: Mapping[str, Any]) -> list[str]:
    return [
        text
        for name, each in arguments.items()
        if "payment" in name
        for text in _iter_texts_with_digit(each)
    ]


def _iter_texts_with_digit(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts_with_digit(each)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= MIN_IDENTIFIER_LENGTH and any(character.isdigit() for character in text):
            yield text


def _count_numbers(arguments: Mapping[str, Any] | None) -> Counter[str]:
    return Counter(
        number for each in (arguments or {}).values() for number in _NUMBER.findall(str(each))
    )


def _is_similar_calculation(numbers: Counter[str], golden_numbers: Counter[str]) -> bool:
    n_shared = (numbers & golden_numbers).total()
    return n_shared >= MIN_SHARED_NUMBERS and n_shared >= MIN_SHARE * golden_numbers.total()


def _list_stated_numbers(text: str) -> list[str]:
    return [
        number.replace(",", "")
        for number in _STATED_NUMBER.findall(_LIST_NUMBER.sub(" ", text.replace("*", "")))
    ]
