"""Recognise replies that are the error message of a service instead of an answer of the model.

Formats whose scores come from a judge have no field for failed requests: their programs write the
message of the exception, or of the provider, as the reply, and the judge fails it. The form of a
text alone proves nothing, because a model can quote an error that a tool returned. So a text is an
incident only if the file also shows that the model wrote nothing. Otherwise an issue asks for a
look at it.

The forms are those of the Python clients of OpenAI, Anthropic, Google and litellm, of axios, of
HTTP servers and proxies (Envoy, nginx), and of the programs that write the files.
"""

from __future__ import annotations

import re

import orjson

from fcreview.importers.common.incidents import apply_incident, make_error_incident
from fcreview.importers.common.records import add_issue
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import format_incident_kind
from fcreview.model.item import Item

MAX_SEARCHED_CHARACTERS = 2_000
"""Number of characters at the beginning of a reply in which the form of an error is searched."""
MAX_ERROR_JSON = 100_000
"""Number of characters above which a reply is not parsed as a JSON error."""
_STATUS = r"(?:4(?:00|01|02|03|04|08|09|13|22|29)|5(?:00|02|03|04|20|22|24|29))"
"""HTTP statuses with which services refuse or fail a request."""
_STATUS_TEXT = (
    r"(?:bad request|unauthorized|payment required|forbidden|not found|request timeout|too many"
    r" requests|internal server error|bad gateway|service unavailable|gateway time-?out|client"
    r" error|server error|overloaded|deadline exceeded|resource has been exhausted)"
)
_FORMS = tuple(
    re.compile(rf"\A{pattern}", re.IGNORECASE)
    for pattern in (
        # `Error code: 429 - {...}` (OpenAI, Anthropic), `ERROR: HTTP 503: ...`, `Error 500: ...`
        rf"error\b[:\s]{{0,3}}(?:http|code|status)?(?: (?:error|code))?[:\s]{{0,3}}{_STATUS}\b",
        # `HTTP 429: Too Many Requests`, `HTTP/1.1 503`, `status code: 500`
        rf"(?:http(?:/[\d.]{{1,3}})?(?: error)?|status(?: code)?)[:\s]{{1,3}}{_STATUS}\b",
        # `429 Client Error: Too Many Requests for url: ...`, `503 Service Unavailable`
        rf"{_STATUS}:? {_STATUS_TEXT}(?=\Z|[:.\n{{]| for url| for model)",
        # `429 RESOURCE_EXHAUSTED. {...}` (Google)
        rf"{_STATUS} (?-i:[A-Z]{{2,20}}(?:_[A-Z]{{2,20}}){{0,3}})\. \{{",
        r"request failed with status code \d{3}\b",
        # `litellm.RateLimitError: ...`, `openai.APITimeoutError(...)`, `google.api_core...`
        r"(?:litellm|openai|anthropic|google|botocore|httpx|httpcore|aiohttp|requests|urllib3|cohere"
        r"|mistralai|groq)(?:\.\w{1,60}){0,5}\.(?:\w{0,60}(?:Error|Exception|Timeout)"
        r"|exceptions\.\w{1,60})(?::|\()",
        # The same names without their module, as `type(error).__name__` gives them.
        r"(?:error:? )?(?:RateLimit|APIConnection|APITimeout|APIStatus|Authentication"
        r"|PermissionDenied|BadRequest|NotFound|UnprocessableEntity|InternalServer|APIResponse"
        r"|ServiceUnavailable|ContextWindowExceeded|ContentPolicyViolation|Timeout|ConnectTimeout"
        r"|ReadTimeout|ConnectionReset|ConnectionRefused|ClientConnector|ServerDisconnected"
        r"|Throttling|Model|InvalidRequest|API)(?:Error|Exception)(?:: |\()",
        # What the programs that run benchmarks write before the message of an exception.
        r"(?:api error|error during inference|error calling (?:the )?(?:model|llm|api)"
        r"|(?:llm|model) (?:call|request|completion) failed"
        r"|failed to (?:get|generate) (?:a )?(?:response|completion|reply))\b.{0,10}:",
        # Messages of libraries and servers that name no model and no task.
        r"an error occurred \(\w{1,60}\) when calling the \w{1,60} operation",
        r"(?:\w{1,60}(?:error|exception): )?\[errno -?\d{1,5}\]",
        r"(?:\w{1,60}(?:error|exception): )?https?connectionpool\(",
        r"(?:\('?)?connection (?:aborted|broken|refused|reset by peer)\b",
        r"(?:connect|read|socket|error:) (?:econn\w{3,20}|etimedout|hang up)\b",
        r"econn(?:refused|reset)\b",
        r"curl: \(\d{1,3}\)|grpc(?: error)?: |grpc\.rpcerror|context deadline exceeded",
        r"(?:remotedisconnected|server disconnected|peer closed connection)\b",
        r"cannot connect to host\b",
        r"(?:all connection attempts failed|stream disconnected before completion|fetch failed)\b",
        r"(?:\w{1,60}\.){0,6}(?-i:[A-Z])\w{0,60}(?:Error|Exception)\Z",
        r"(?:request|upstream request|read|client[- ]side|execution) (?:timed out|timeout)\b",
        r"time(?:d )?out after \d",
        r"upstream connect error or disconnect/reset before headers",
        r"(?:you exceeded your current quota|your credit balance is too low|insufficient credits\."
        r"|resource has been exhausted|you have reached your specified api usage limits)",
        r"rate limit (?:reached|exceeded) for\b|(?:torch\S{0,40}: )?cuda (?:out of memory|error)\b",
        r"internal error occurred\.|an internal error has occurred\. please retry",
        r"this model's maximum context length is \d|prompt is too long: \d",
        r"(?:<!doctype html|<html)[^\0]{0,300}<title>[^<]{0,40}\b(?:4\d\d|5\d\d|error)\b",
    )
)
"""Beginnings of error messages. Each repeats a bounded number of characters."""
_WHOLE_TEXTS = frozenset(
    {
        "connection error.",
        "connection error",
        "request timed out.",
        "request timed out",
        "internal server error",
        "bad gateway",
        "service unavailable",
        "gateway timeout",
        "too many requests",
        "overloaded",
        "no healthy upstream",
        "provider returned error",
        "rate limit exceeded",
        "rate limit exceeded.",
        "the model is overloaded. please try again later.",
        "error",
        "error.",
    }
)
"""Error messages without details, in lower case."""
_KEYS_OF_ERROR_JSON = frozenset(
    {
        "code",
        "detail",
        "details",
        "error",
        "error_message",
        "message",
        "object",
        "param",
        "request_id",
        "status",
        "status_code",
        "success",
        "type",
    }
)
"""Keys of the JSON objects with which services answer a request that failed."""


def is_error_message(reply: str) -> bool:
    """Whether a reply has the form of an error message of a service, from its first character on.

    Words such as `timeout` or `error` in the text mean nothing: replies are about them, too.
    """
    text = reply.strip()
    if text.lower() in _WHOLE_TEXTS:
        return True
    if text.startswith("{"):
        return _is_error_json(text)
    beginning = text[:MAX_SEARCHED_CHARACTERS]
    return any(form.match(beginning) for form in _FORMS)


def _is_error_json(text: str) -> bool:
    """Whether a text is the JSON object of a failed request: `{"error": {"message": ...}}`.

    An `error` that is only a text counts if it has the form of an error message itself, because
    models write such objects as well.
    """
    if len(text) > MAX_ERROR_JSON:
        return False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(value, dict) or not value.keys() <= _KEYS_OF_ERROR_JSON:
        return False
    error = value.get("error")
    if isinstance(error, dict):
        return isinstance(error.get("message"), str)
    return isinstance(error, str) and not error.startswith("{") and is_error_message(error)


def check_reply_text(
    item: Item, reply: str | None, where: str, *, is_model_silent: bool = False
) -> None:
    """Check whether the reply of an item is an error message instead of an answer.

    If the record shows that the model wrote nothing (`is_model_silent`), the error message is from
    the program, and the item is marked as an incident (a failure that is not the model's).
    Otherwise the model may have written the message, and the item gets an import issue.

    `where` is the field of the record that has the reply.
    """
    if reply is None or item.has_incident or not is_error_message(reply):
        return
    if is_model_silent:
        apply_incident(item, make_error_incident(reply, where, is_marked=False))
        return
    kind = format_incident_kind(classify_error_text(reply))
    add_issue(
        item,
        f"the answer ({where}) looks like an error message of a service ({kind}), but counts as an"
        " answer. If the request failed, mark the item as an incident (key I)",
    )
