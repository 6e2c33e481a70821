"""Replies that are error messages of a service are told from answers about errors."""

from __future__ import annotations

import random

import pytest

from fcreview.importers.common.error_replies import check_reply_text, is_error_message
from fcreview.model.item import Item
from tests.importers.planted_incidents import make_near_miss


@pytest.mark.parametrize(
    "reply",
    [
        "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "ERROR: HTTP 503: upstream",
        " Error: 500 Internal Server Error",
        "HTTP 429: Too Many Requests",
        "429 Client Error: Too Many Requests for url: https://api.example.com/v1",
        "429 RESOURCE_EXHAUSTED. {'error': {'code': 429}}",
        "Request failed with status code 502",
        "litellm.exceptions.RateLimitError: litellm.RateLimitError: OpenAIException",
        "openai.APITimeoutError('Request timed out.')",
        "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded",
        "APIConnectionError: Connection error.",
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}',
        '{"error": {"message": "The server is overloaded", "type": "server_error", "code": 503}}',
        '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
        '{"error": "Error code: 401 - invalid key"}',
        "An error occurred (ThrottlingException) when calling the Converse operation: slow down",
        "HTTPSConnectionPool(host='api.x.com', port=443): Max retries exceeded",
        "[Errno 104] Connection reset by peer",
        "upstream connect error or disconnect/reset before headers. reset reason: overflow",
        "<html>\r\n<head><title>502 Bad Gateway</title></head>",
        "Connection error.",
        "Error",
    ],
)
def test_error_messages_of_services_are_recognised(reply: str) -> None:
    assert is_error_message(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "429 is the status for too many requests.",
        "404 pages were found. {1}",
        "Error, not enough information provided.",
        "Error: No function available for this request.",
        "Timeout: end_time=end_time",
        "The API returned an error: HTTP 503. Please try again.",
        "requests.get(url='https://api.example.com/recommendations')",
        "API: the endpoint is /v1/books.",
        '{"error": "no matching function for Room 429"}',
        '{"error": {"code": 3}, "answer": "none"}',
        '{"error": ',
        "I'm sorry, the rate limit of the tool was exceeded.",
        "The request timed out twice, so I used the cached value.",
    ],
)
def test_answers_about_errors_are_not(reply: str) -> None:
    assert not is_error_message(reply)


def test_near_misses_of_other_formats_are_not() -> None:
    chance = random.Random(3)
    replies = {make_near_miss(chance) for _ in range(200)} - {"Error"}
    assert not [reply for reply in replies if is_error_message(reply)]


def test_long_reply_takes_little_time() -> None:
    for reply in ("Error " * 1_000_000, "<html>" + "<title>" * 500_000, "{" * 3_000_000):
        assert not is_error_message(reply)


def test_error_text_is_an_incident_only_if_the_model_was_silent() -> None:
    text = "Error code: 429 - {'error': {'message': 'Rate limit reached'}}"
    silent = Item("a", "all", file="x.csv", line=3)
    check_reply_text(silent, text, "response", is_model_silent=True)
    assert (silent.incident, silent.incident_certainty) == ("rate_limit", "rule")
    assert silent.issues == []

    spoken = Item("b", "all", file="x.csv", line=4)
    check_reply_text(spoken, text, "response")
    assert spoken.incident is None
    (issue,) = spoken.issues
    assert (issue.line, "looks like an error message" in issue.what) == (4, True)
    assert "rate limit" in issue.what
