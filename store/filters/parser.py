"""Define the keys of the filter language, and parse filters. The queue screen and `--where` use
this language.

    official:fail -reviewed category:live_simple error:value_error text:"celsius" golden>2 (turns>=3
    OR issues)

Terms are combined with "and". `OR` and parentheses group terms, and `-` negates a term. `key:a|b`
and `key:a,b` match both values. An unquoted value ignores case; `*` in it matches any characters,
and `none` matches an empty field. A quoted value matches exactly. A bare word is searched for in
the id and the question. Numbers are compared as in `golden>2` and `latency<=2.5`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.model.item import ITEM_FLAGS
from fcreview.model.verdict import DECISIVE_STEP, PASS_FAIL
from fcreview.store.filters import search_sql as sql
from fcreview.store.filters.tokens import FilterError, FilterOperator, FilterTerm, quote, tokenize
from fcreview.store.review_sql import (
    EFFECTIVE_VERDICT,
    HAS_INCIDENT,
    OWN_MARK,
    incident_certainty_sql,
    incident_kind_sql,
    is_incident_sql,
)

__all__ = [
    "FilterCondition",
    "FilterError",
    "list_filter_help",
    "list_key_values",
    "parse_filter",
    "quote",
]


@dataclass(frozen=True, slots=True)
class FilterKey:
    """A key of the filter language, as in `key:value`."""

    build_condition: sql.ConditionBuilder
    help: str
    shows_verdict: bool = (
        False  # Whether the key reveals verdicts. It is then not allowed in blind mode.
    )
    depends_on_reviews: bool = False  # whether the selected items change while annotators review
    choices: tuple[str, ...] = ()  # allowed values; empty if any value is allowed
    build_blind_condition: sql.ConditionBuilder | None = None
    """Condition in blind mode, for a key that would otherwise reveal the reviews of other
    annotators.
    """


@dataclass(frozen=True, slots=True)
class FilterFlag:
    """A word that selects items without a value, such as `stale`.

    `FilterKey` explains the fields.
    """

    sql: str
    help: str
    shows_verdict: bool = False
    depends_on_reviews: bool = False


IS_DISPUTED = "h.decided_by = 'disputed'"
HAS_CONTRADICTION = "coalesce(len(h.contradicting), 0) > 0"
_AUTOMATIC_CONDITIONS = {
    "pass": "{} = true",
    "fail": "{} = false",
    "unknown": "{} IS NULL",
    "none": "{} IS NULL",
}
# SQL for the number of parts and additional criteria of the item that have a review
_N_PARTS = "h.n_parts"
_HUMAN_CONDITIONS = {
    **{word: f"{{}} = '{json.dumps(value)}'" for word, value in PASS_FAIL.items()},
    "disputed": IS_DISPUTED,
    "unknown": "{} IS NULL",
    "none": "{} IS NULL",
    "any": f"({{}} IS NOT NULL OR {_N_PARTS} > 0)",
    "part": f"({{}} IS NULL AND {_N_PARTS} > 0)",
}
_OWN_CONDITIONS = {
    word: text.replace(_N_PARTS, "h.your_parts") for word, text in _HUMAN_CONDITIONS.items()
}


def _make_choice_key(
    column: str,
    sql_by_choice: dict[str, str],
    help_text: str,
    *,
    shows_verdict: bool = True,
    depends_on_reviews: bool = False,
) -> FilterKey:
    """Make a filter key with a fixed list of values. `sql_by_choice`: the SQL condition of each
    value.
    """
    return FilterKey(
        sql.match_choice(column, sql_by_choice),
        help_text,
        shows_verdict=shows_verdict,
        depends_on_reviews=depends_on_reviews,
        choices=tuple(sql_by_choice),
    )


def _make_verdict_key(build_condition: sql.ConditionBuilder, help_text: str) -> FilterKey:
    return FilterKey(build_condition, help_text, shows_verdict=True)


def _make_review_key(table_sql: str, column: str, help_text: str) -> FilterKey:
    build_condition = sql.match_subquery(
        f"i.item IN (SELECT item FROM {table_sql} WHERE {{}})", sql.match_text(column)
    )
    return FilterKey(build_condition, help_text, shows_verdict=True, depends_on_reviews=True)


def _make_incident_key() -> FilterKey:
    """Return the filter key `incident`, which finds items whose answer is missing or cut.

    Blind mode allows the key, because an automatic mark of an incident reveals no verdict. The
    reviews of other annotators are then ignored.
    """
    conditions = sql.build_incident_conditions(
        HAS_INCIDENT, incident_kind_sql(), incident_certainty_sql()
    )
    own_conditions = sql.build_incident_conditions(
        is_incident_sql(OWN_MARK), incident_kind_sql(OWN_MARK), incident_certainty_sql(OWN_MARK)
    )
    return FilterKey(
        sql.match_choice("", conditions),
        "why the model's answer is missing or cut: any, none, limit, weak or a kind such as"
        " rate_limit",
        depends_on_reviews=True,
        choices=tuple(conditions),
        build_blind_condition=sql.match_choice("", own_conditions),
    )


_FLAG_CONDITIONS: dict[str, str] = {
    flag: f"coalesce(list_contains(i.flags, '{flag}'), false)" for flag in ITEM_FLAGS
} | {"any": "coalesce(len(i.flags), 0) > 0", "none": "coalesce(len(i.flags), 0) = 0"}

_IN_RUNS = "i.run IN (SELECT run FROM runs WHERE {})"
_IN_VERDICTS = "i.item IN (SELECT item FROM verdicts v WHERE {})"
_IN_SCORES = _IN_VERDICTS.format(f"v.criterion <> '{DECISIVE_STEP}' AND {{}}")
_TAGS = "(SELECT item, unnest(tags) AS tag FROM human_labels)"
_ANNOTATORS = "(SELECT item, unnest(annotators) AS annotator FROM human_labels)"
_NUMERIC_VALUE = f"TRY_CAST({sql.VERDICT_VALUE} AS DOUBLE)"
"""SQL that returns the value of a verdict as a number, or null for true and false."""
_TOKENS = "(coalesce(i.tokens_in, 0) + coalesce(i.tokens_out, 0))"

FILTER_KEYS: dict[str, FilterKey] = {
    "official": _make_choice_key(
        "i.official", _AUTOMATIC_CONDITIONS, "official verdict: pass, fail or unknown"
    ),
    "rule": _make_choice_key(
        "i.rule", _AUTOMATIC_CONDITIONS, "recomputed verdict: pass, fail or unknown"
    ),
    "judge": _make_choice_key(
        "i.judge",
        sql.JUDGE_CONDITIONS,
        "judge verdict on the item or its parts: pass, fail, any or unknown",
    ),
    "judgement": FilterKey(
        sql.build_judgement_condition,
        "verdict of `fcreview judge` on an item that you reviewed: pass, fail, any or none, or of"
        " one judge: NAME=pass",
        shows_verdict=True,
        depends_on_reviews=True,
    ),
    "criterion": _make_verdict_key(
        sql.match_subquery(_IN_VERDICTS, sql.match_text("v.criterion")),
        "criterion of an automatic verdict, such as equivalent or dialog_act",
    ),
    "score": _make_verdict_key(
        sql.match_subquery(_IN_SCORES, sql.match_number(_NUMERIC_VALUE)),
        "benchmark's score, on a scale from 0 to 1 or from 0 to 2",
    ),
    "you": _make_choice_key(
        "h.you",
        _OWN_CONDITIONS,
        f"your verdict: {', '.join(PASS_FAIL)}, part (only parts reviewed), none or any",
        shows_verdict=False,
        depends_on_reviews=True,
    ),
    "human": _make_choice_key(
        "h.human",
        _HUMAN_CONDITIONS,
        f"human verdict: {', '.join(PASS_FAIL)}, disputed, part (only parts reviewed), none or any",
        depends_on_reviews=True,
    ),
    "individual": _make_choice_key(
        "h.individual",
        _HUMAN_CONDITIONS | {"disputed": "h.individual_by = 'disputed'"},
        "like `human`, but ignores bulk reviews",
        depends_on_reviews=True,
    ),
    "effective": _make_choice_key(
        EFFECTIVE_VERDICT,
        _AUTOMATIC_CONDITIONS | {"disputed": IS_DISPUTED},
        "effective verdict: pass, fail, unknown or disputed",
        depends_on_reviews=True,
    ),
    "error": _make_verdict_key(
        sql.match_text(sql.ERROR_TYPE_SQL),
        "official error type; if there is none, recomputed error type",
    ),
    "rule_error": _make_verdict_key(sql.match_text("i.rule_error_type"), "recomputed error type"),
    "function": _make_verdict_key(
        sql.match_text("i.diff_function"), "function of the call with the first difference"
    ),
    "argument": _make_verdict_key(
        sql.match_text("i.diff_argument"), "argument with the first difference"
    ),
    "golden_value": _make_verdict_key(
        sql.match_json("i.diff_golden"), "golden value at the first difference"
    ),
    "predicted_value": _make_verdict_key(
        sql.match_json("i.diff_predicted"), "predicted value at the first difference"
    ),
    "decisive": _make_verdict_key(
        sql.match_text("i.decisive_step"), "kind of the probable decisive step, such as wrong_write"
    ),
    "ended": _make_verdict_key(
        sql.match_text("i.ended"), "how the conversation ended, such as user_stop or max_steps"
    ),
    "incident": _make_incident_key(),
    "flag": _make_choice_key(
        "i.flags",
        _FLAG_CONDITIONS,
        f"what `fcreview check` counts: {', '.join(ITEM_FLAGS)}, any or none",
    ),
    "calls": FilterKey(sql.build_called_function_condition, "name of a golden or predicted call"),
    "category": FilterKey(
        sql.match_text("i.category", sql.compare_leading_words),
        "category, or the first words of its name",
    ),
    "group": FilterKey(sql.match_text('i."group"'), "name of the conversation"),
    "id": FilterKey(sql.match_text("i.id"), "item id"),
    "item": FilterKey(sql.build_item_condition, "item number in the database"),
    "run": FilterKey(sql.build_run_condition, "run number, or a part of the run's path"),
    "model": FilterKey(sql.match_subquery(_IN_RUNS, sql.match_text("model")), "model"),
    "benchmark": FilterKey(sql.match_subquery(_IN_RUNS, sql.match_text("benchmark")), "benchmark"),
    "generation": FilterKey(
        sql.match_subquery(_IN_RUNS, sql.match_text("generation")), "version of the benchmark"
    ),
    "language": FilterKey(
        sql.match_subquery(_IN_RUNS, sql.match_text("language")), "language of the dataset"
    ),
    "text": FilterKey(
        sql.build_search_condition, "text that the question, messages, calls or task contain"
    ),
    "metadata": _make_verdict_key(
        sql.build_metadata_condition, "NAME=VALUE in the item's metadata, or text that it contains"
    ),
    "tag": _make_review_key(_TAGS, "tag", "error tag in a review"),
    "fault": _make_review_key(
        "human_labels", "fault", "fault in a review, such as model or golden"
    ),
    "annotator": _make_review_key(_ANNOTATORS, "annotator", "annotator who reviewed the item"),
    "golden": FilterKey(sql.match_number("i.n_golden"), "number of golden calls"),
    "predicted": FilterKey(sql.match_number("i.n_predicted"), "number of predicted calls"),
    "turns": FilterKey(sql.match_number("i.n_turns"), "number of turns"),
    "steps": FilterKey(sql.match_number("i.n_steps"), "number of model steps"),
    "tokens": FilterKey(sql.match_number(_TOKENS), "number of input and output tokens"),
    "latency": FilterKey(sql.match_number("i.latency"), "latency in seconds"),
    "issues": _make_verdict_key(sql.match_number("i.n_issues"), "number of import issues"),
}

FILTER_FLAGS: dict[str, FilterFlag] = {
    "reviewed": FilterFlag("h.you IS NOT NULL", "you reviewed the item", depends_on_reviews=True),
    "stale": FilterFlag(
        "h.your_stale",
        "the prediction or golden answer changed after your review",
        depends_on_reviews=True,
    ),
    "disagree": FilterFlag(
        sql.AUTOMATIC_DISAGREEMENT_SQL,
        "official, recomputed and judge verdicts differ",
        shows_verdict=True,
    ),
    "disputed": FilterFlag(
        IS_DISPUTED, "annotators disagree", shows_verdict=True, depends_on_reviews=True
    ),
    "adjudicated": FilterFlag(
        "h.decided_by = 'adjudication'",
        "a disagreement was adjudicated",
        shows_verdict=True,
        depends_on_reviews=True,
    ),
    "contradictory": FilterFlag(
        HAS_CONTRADICTION,
        "an annotator's verdict on the item contradicts their other verdicts on it",
        shows_verdict=True,
        depends_on_reviews=True,
    ),
    "issues": FilterFlag("i.n_issues > 0", "the item has import issues", shows_verdict=True),
}

MAX_VALUES = 200
MAX_DEPTH = 40  # maximum depth of nested parentheses and negations


@dataclass(frozen=True, slots=True)
class FilterCondition:
    where: str = "true"  # condition over `item_rows i LEFT JOIN human h ON h.item = i.item`
    # values of the question marks in `where`, in order
    params: list[object] = field(default_factory=list)
    depends_on_reviews: bool = False


def parse_filter(text: str, *, blind: bool = False) -> FilterCondition:
    """Translate a filter to SQL.

    Raises FilterError if it is invalid or, in blind mode, if it reveals verdicts.
    """
    return _Parser(text, blind).parse()


def list_filter_help(*, blind: bool = False) -> list[tuple[str, str]]:
    """Return (name, help text) of each key and flag of the filter language.

    The name of a key ends with `:`.
    """
    keys = [
        (f"{name}:", key.help)
        for name, key in FILTER_KEYS.items()
        if not (blind and key.shows_verdict)
    ]
    return keys + [
        (name, flag.help)
        for name, flag in FILTER_FLAGS.items()
        if not (blind and flag.shows_verdict)
    ]


def list_key_values(key: str, *, blind: bool = False) -> Sequence[str]:
    """Return the allowed values of a key; empty if the key has no fixed values, or is hidden in
    blind mode.
    """
    filter_key = FILTER_KEYS.get(key)
    if filter_key is None:
        return ()
    is_hidden = blind and filter_key.shows_verdict
    return () if is_hidden else filter_key.choices


class _Parser:
    def __init__(self, text: str, blind: bool) -> None:
        """Split a filter into tokens. Raises FilterError if it is invalid or has too many values."""
        self._text = text
        self._blind = blind
        self._tokens = tokenize(text)
        self._index = 0
        self._depends_on_reviews = False
        terms = [token for token in self._tokens if isinstance(token, FilterTerm)]
        if sum(len(term.values) for term in terms) > MAX_VALUES:
            raise self._make_error(
                f"the filter has more than {MAX_VALUES} values", terms[-1].position
            )

    def parse(self) -> FilterCondition:
        """Parse the whole filter. Without terms, it selects all items."""
        if not self._tokens:
            return FilterCondition()
        where, params = self._parse_or(0)
        if self._index < len(self._tokens):
            raise self._make_error("unmatched closing parenthesis", self._current_position())
        return FilterCondition(where, params=params, depends_on_reviews=self._depends_on_reviews)

    def _parse_or(self, depth: int) -> sql.SqlCondition:
        parts = [self._parse_and(depth)]
        while self._is_next_operator("OR"):
            self._index += 1
            parts.append(self._parse_and(depth))
        return _join_conditions(" OR ", parts)

    def _parse_and(self, depth: int) -> sql.SqlCondition:
        """Parse conditions that must all hold, up to `OR` or a closing parenthesis."""
        parts = []
        while self._index < len(self._tokens) and not self._is_next_operator("OR", ")"):
            parts.append(self._parse_condition(depth))
        if not parts:
            raise self._make_error("a condition is missing here", self._current_position())
        return _join_conditions(" AND ", parts)

    def _parse_condition(self, depth: int) -> sql.SqlCondition:
        """Parse a term, a negation or an expression in parentheses."""
        if depth > MAX_DEPTH:
            raise self._make_error(
                "parentheses and negations are nested too deeply", self._current_position()
            )
        if self._index == len(self._tokens) or self._is_next_operator(")", "OR"):
            raise self._make_error("a condition is missing here", self._current_position())

        token = self._tokens[self._index]
        self._index += 1
        if isinstance(token, FilterTerm):
            return self._build_term_condition(token)
        if token.text == "-":
            return self._parse_negation(depth)
        return self._parse_parentheses(depth, opening=token)

    def _build_term_condition(self, term: FilterTerm) -> sql.SqlCondition:
        if term.key is None:
            return self._build_bare_word_condition(term)
        return self._build_key_condition(term, term.key)

    def _parse_negation(self, depth: int) -> sql.SqlCondition:
        where, params = self._parse_condition(depth + 1)
        # Without a value, the condition is null. Its negation then holds.
        return f"NOT coalesce({where}, false)", params

    def _parse_parentheses(self, depth: int, opening: FilterOperator) -> sql.SqlCondition:
        condition = self._parse_or(depth + 1)
        if not self._is_next_operator(")"):
            raise self._make_error("unclosed parenthesis", opening.position)
        self._index += 1
        return condition

    def _build_key_condition(self, term: FilterTerm, name: str) -> sql.SqlCondition:
        """Build the SQL condition of a term `KEY:VALUE`, and note whether it depends on reviews. In
        blind mode, keys that would show verdicts of others raise an error.
        """
        key = FILTER_KEYS.get(name)
        if key is None:
            raise self._make_error(_unknown_key_message(name), term.position)
        self._raise_if_hidden(name, key.shows_verdict, term.position)
        self._depends_on_reviews |= key.depends_on_reviews
        build_condition = key.build_condition
        if self._blind and key.build_blind_condition is not None:
            build_condition = key.build_blind_condition
        try:
            return build_condition(term)
        except sql.InvalidValueError as error:
            raise self._make_error(f"{name}: {error}", error.value.position) from None

    def _build_bare_word_condition(self, term: FilterTerm) -> sql.SqlCondition:
        """Return the condition of a flag such as `reviewed`, or of a word in the id or question.
        Note whether the flag depends on reviews.
        """
        (value,) = term.values
        flag = FILTER_FLAGS.get(value.text.lower())
        # A quoted flag is an ordinary word.
        if flag is None or value.quoted:
            where = "(contains(lower(i.id), lower(?)) OR contains(lower(i.question), lower(?)))"
            return where, [value.text, value.text]

        self._raise_if_hidden(value.text, flag.shows_verdict, term.position)
        self._depends_on_reviews |= flag.depends_on_reviews
        return f"({flag.sql})", []

    def _raise_if_hidden(self, name: str, shows_verdict: bool, position: int) -> None:
        if self._blind and shows_verdict:
            raise self._make_error(
                f"{name} is hidden in blind mode because it reveals verdicts", position
            )

    def _is_next_operator(self, *operators: str) -> bool:
        if self._index == len(self._tokens):
            return False
        token = self._tokens[self._index]
        return isinstance(token, FilterOperator) and token.text in operators

    def _current_position(self) -> int:
        """Return the offset of the next token, or of the end of the filter."""
        if self._index == len(self._tokens):
            return len(self._text)
        return self._tokens[self._index].position

    def _make_error(self, message: str, position: int) -> FilterError:
        return FilterError(message, self._text, position)


def _join_conditions(operator: str, conditions: list[sql.SqlCondition]) -> sql.SqlCondition:
    if len(conditions) == 1:
        return conditions[0]
    joined = operator.join(where for where, _ in conditions)
    return f"({joined})", sql.collect_params(conditions)


def _unknown_key_message(name: str) -> str:
    """Return the message for an unknown filter key: a similar word, or else all keys."""
    known_words = [*FILTER_KEYS, *FILTER_FLAGS]
    similar_words = difflib.get_close_matches(name, known_words, n=1, cutoff=0.6)
    if not similar_words:
        return f"unknown key {name}. Use one of {', '.join(FILTER_KEYS)}"
    (suggestion,) = similar_words
    if suggestion in FILTER_KEYS:
        suggestion += ":"
    return f"unknown key {name}: did you mean {suggestion}?"
