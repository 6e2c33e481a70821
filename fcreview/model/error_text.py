"""Find the kind of a failure in the text of its error message.

Sources: the error messages of OpenAI, Anthropic, Google, Mistral, Cohere, Amazon Bedrock and Azure,
of vLLM, SGLang and llama.cpp, of litellm, httpx, requests and aiohttp, and of Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from fcreview.model.incident import IncidentKind

MAX_CLASSIFIED_CHARACTERS = 20_000
"""Characters of an error text that are searched: the first and the last half, because the message
is at the beginning of a response and at the end of a traceback.
"""


def classify_error_text(*texts: str) -> IncidentKind:
    """Return the kind of an error from its text: the first kind whose words occur in the text.

    If a file has the message of the error and the name or code of the exception in different
    fields, pass all of them. Pass no replies of a model: they can be about rate limits or timeouts.

    The order of the kinds matters, because providers wrap a rate limit or a context overflow into
    a status 400, and quote the user's words.
    """
    return _classify_normalised_texts(tuple(map(_normalise_error_text, texts)))


_NORMALISED_CHARACTERS = str.maketrans(dict.fromkeys("_-\t\r\n", " "))


def _normalise_error_text(text: str) -> str:
    """Return the text in lower case with blanks for `_`, `-` and line breaks, so that
    `rate_limit` is `rate limit`. Only the beginning and the end of a long text count.
    """
    classified = text
    if len(text) > MAX_CLASSIFIED_CHARACTERS:
        half = MAX_CLASSIFIED_CHARACTERS // 2
        classified = f"{text[:half]} {text[-half:]}"
    return classified.lower().translate(_NORMALISED_CHARACTERS).strip()


_GENERAL_EXCEPTION = "(?:runtimeerror|valueerror|oserror|systemerror|cancellederror|exception)"
_EXCEPTION_WITH_COLON = re.compile(rf"{_GENERAL_EXCEPTION}: *(?=\S)")
_EXCEPTION_AS_CALL = re.compile(rf"{_GENERAL_EXCEPTION}\((['\"])(.+)\1,?\)\Z")


def _split_exception(text: str) -> tuple[str, ...]:
    """Return the texts in which the kind of an error may be recognised.

    For `exception: message` or `exception('message')` with the name of a general exception, these
    are the message and the whole text, because some messages are recognised only at the start of a
    text. For any other text, it is the text alone.
    """
    with_colon = _EXCEPTION_WITH_COLON.match(text)
    if with_colon:
        return text[with_colon.end() :], text
    as_call = _EXCEPTION_AS_CALL.match(text)
    if as_call:
        return as_call[2], text
    return (text,)


@lru_cache(maxsize=256)
def _classify_normalised_texts(texts: tuple[str, ...]) -> IncidentKind:
    """Return the kind of incident that the texts of an error tell."""
    parts: list[str] = []
    for text in texts:
        parts += _split_exception(text)
    # The kinds are in order of precedence.
    for words in _ERROR_WORDS:
        if any(words.occur_in(part) for part in parts):
            return words.kind
    return "unknown"


@dataclass(frozen=True, slots=True)
class _ErrorWords:
    """Words of one kind of failure, for normalised texts."""

    kind: IncidentKind
    phrases: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...] = ()
    """Patterns repeat only a bounded number of characters, so that they need linear time."""

    def occur_in(self, text: str) -> bool:
        if any(phrase in text for phrase in self.phrases):
            return True
        return any(pattern.search(text) for pattern in self.patterns)


def _compile(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def _status(*codes: int) -> str:
    """Return a pattern for an HTTP status that is named as such: `error code: 503`, `http/1.1 503`,
    `"status": 503`, `answered 503`, `(503)` or `503` at the beginning. Other numbers, such as
    counts of tokens, do not match.
    """
    code = f"(?:{'|'.join(map(str, codes))})"
    # `error` of `error code: 503`
    name = (
        r"\b(?:error|status|http|code|statuscode|response|returned|answered|received|failed"
        r" with|responded with|got)"
    )
    # ` code` of `error code: 503`, or the version of `http/1.1 503`
    more_names = r"(?: (?:http|status|error|code|an?)\b){0,3}(?:/[\d.]{1,3})?"
    # `": ` of `"status": 503`, or ` (` of `status (503)`
    separator = r"['\"]?[ :=]{0,3}['\"(\[<]?"
    # The code is not the beginning of a longer number, such as 5031 or 503.5, and counts nothing.
    not_a_count = r"(?!\d|[.,]\d| (?:tokens|characters|items)\b)"

    named = rf"{name}{more_names}{separator}{code}{not_a_count}"
    # `(503)` or `[http 503]`
    in_brackets = rf"[(\[](?:http )?{code}[)\] ]"
    # `503`, or `ClassName: 503`
    at_beginning = rf"\A(?:[\w.]{{1,80}}: )?['\"]?{code}\b{not_a_count}"
    return f"{named}|{in_brackets}|{at_beginning}"


_ERROR_WORDS = (
    _ErrorWords(
        kind="unparsable",
        phrases=(
            "in message header",
            "unterminated string",
            "jsondecodeerror",
            "json decode error",
            "expecting value",
            "expecting property name",
            "expecting ',' delimiter",
            "expecting ':' delimiter",
            "extra data: line",
            "invalid control character",
            "invalid \\escape",
            "invalid \\\\escape",
            "unexpected end of json",
            "unexpected end of data",
            "tool use failed",
            "failed generation",
            "failed to call a function",
            "unexpected tool call",
            "too many tool calls",
            "missing thought signature",
            "invalidmodelresponse",
            "invalid model response",
            "malformedfunctioncall",
            "toolparseerror",
            "outputparser",
            "output parsing",
            "invalid function arguments",
            "invalid tool arguments",
            "invalid tool call arguments",
            "harmonyerror",
        ),
        patterns=_compile(
            # A handler of BFCL looked for the arguments of a call that the model had written in
            # another form.
            r"\A(?:keyerror: ?|keyerror\()?['\"](?:arguments|parameters)['\"]\)?\Z",
            # The text of the model follows, or the words say whose JSON it is.
            r"invalid json(?:: ?[\[{'\"]| (?:in|from) (?:the"
            r" )?(?:model|tool|function|argument|response|reply|output))",
            r"unexpected token .{1,12} json",
            r"\b(?:arguments?|response|reply|output|content|call)\b.{0,40} (?:not|n't) (?:a )?valid"
            r" json",
            r"(?:failed|unable|could not|cannot|can't|error|failure) (?:to"
            r" )?(?:pars|decod|interpret)(?:e|ing)\b.{0,60}"
            r"\b(?:call|argument|function|tool|model|llm|output|response|reply|completion)",
            r"\b(?:call|argument|tool|output|response|reply|completion)s? (?:could not|cannot) be"
            r" (?:parsed|decoded)",
            r"malformed (?:function|tool|model)|(?:function|tool) call (?:is |was )?malformed",
            r"invalid (?:function|tool) call",
            r"\b(?:json|yaml|xml) pars(?:e|ing) error",
            r"\b(?:tool|output|reply|response) pars(?:er|ing) (?:error|exception|failed|failure)",
        ),
    ),
    _ErrorWords(
        kind="context_length",
        phrases=(
            "contextwindowexceeded",
            "contextlengthexceeded",
            "context overflow",
            "prompt too long",
            "too long prompt",
            "model length",
            "max model len",
            "max seq len",
            "range of input length",
            "reduce the length",
            "reduce your prompt",
            "reduce the number of tokens",
            "reduce the number of input tokens",
        ),
        patterns=_compile(
            r"(?:maximum|max|model'?s?|exceed\w*|available|supported|longer than).{0,40}context"
            r" (?:length|window|size)",
            r"context (?:length|window|size|limit).{0,20}(?:exceed|overflow|reached|error|too"
            r" (?:long|large))",
            r"exceed\w*.{0,40}\bcontext\b",
            r"\b(?:prompt|input|request|conversation|messages?|sequence|query)\b.{0,20} too long",
            # Bedrock's "Too many tokens, please wait" is a rate limit.
            r"too many (?:input |prompt )?tokens(?!,? (?:please wait|per\b))",
            r"(?:exceed\w*|larger than|greater than|longer than|more"
            r" than).{0,40}(?:max\w*|limit|number|allowed).{0,20}"
            r" tokens(?! per|.{0,10}/ ?min)",
            r"\b(?:number of|input|prompt|requested|total) tokens?\b.{0,60}"
            r"(?:exceed|greater than|larger than|longer than)",
            r"\btoken count.{0,60}(?:exceed|above|over)\b",
            r"\bfit (?:in|into|within) .{0,20}context",
            r"\btokens of context\b|\bcontext (?:is )?too (?:long|large)",
            r"\bmaximum (?:is|of) [\d,]{1,12} tokens\b",
            r"\b(?:less|fewer) than [\d,]{1,12} (?:input |prompt )?tokens\b",
            r"\b(?:prompt|input|sequence) (?:length|tokens?|is|was)?.{0,40}(?:exceed|longer"
            r" than|larger than)",
            r"maximum (?:prompt|input|sequence|token|model) length",
            r"\btoken limit\b.{0,20}\b(?:prompt|input|context)\b",
        ),
    ),
    _ErrorWords(
        kind="content_filter",
        phrases=(
            "content filter",
            "contentfilter",
            "content management policy",
            "content policy",
            "contentpolicy",
            "content moderation",
            "content safety",
            "recitation",
            "prohibited content",
            "blockreason",
            "block reason",
            "error toxic",
            "safety system",
            "safety filter",
            "safety setting",
            "safety check",
            "safety reason",
            "responsible ai",
            "responsibleai",
            "invalid prompt",
            "flagged as potentially",
            "usage policy",
            "usage policies",
            "usage guidelines",
            "guardrail",
            "data inspection",
            "datainspection",
            "inappropriate content",
            "content exists risk",
            "sensitive content",
            "sensitive word",
            "不安全或敏感",
            "harmful content",
            "moderation",
        ),
        patterns=_compile(
            r"(?:finish|stop|finished) ?reason\b.{0,12}"
            r"\b(?:safety|blocklist|spii|image safety|content filtered|refusal)\b",
            r"\A['\"]?(?:safety|blocklist|spii)['\"]?\Z",
            r"\b(?:block|filter|reject|flag|refus)\w*\b.{0,60}\b(?:safety|polic(?:y|ies)|unsafe|harmful)",
            r"\b(?:response|output|prompt|request|input|completion|candidate)s? (?:was|were|is|has"
            r" been|have been|got) "
            r"(?:filtered|flagged|blocked)",
            r"violat\w+.{0,40}(?:polic|terms|guideline)|\bpolicy violation",
        ),
    ),
    _ErrorWords(
        kind="rate_limit",
        phrases=(
            "rate limit",
            "ratelimit",
            "toomanyrequests",
            "too many requests",
            "too many concurrent",
            "concurrent requests",
            "rate too high",
            "allowance",
            "quota",
            "resource exhausted",
            "resourceexhausted",
            "resource has been exhausted",
            "insufficient balance",
            "insufficient credit",
            "insufficient fund",
            "credit balance",
            "account balance",
            "payment required",
            "billing",
            "out of credits",
            "not enough credits",
            "arrearage",
            "余额不足",
            "并发数过高",
            "欠费",
            "throttl",
            "too many tokens",
            "slow down",
            "slowdown",
            "service tier capacity",
        ),
        patterns=_compile(
            # The number alone is enough, unless it counts something.
            r"(?<![\d.,])429(?!\d|[.,]\d| (?:tokens|characters|items|seconds|ms|bytes|lines)\b)",
            _status(402),
            r"\b(?:tokens?|requests?) (?:per|/) ?(?:min|sec|day|hour)",
            r"\b(?:tpm|rpm|tpd|rpd)\b",
            r"\b(?:usage|spend|spending|concurrency|request|daily|monthly|account)"
            r" limit.{0,20}(?:reach|exceed|hit)",
            r"\b(?:exceeded|reached|hit) (?:your|the) (?:\w{1,20} ){0,2}"
            r"(?:usage|spend|spending|concurrency|request|daily|monthly) limit",
        ),
    ),
    _ErrorWords(
        kind="auth",
        phrases=(
            "authenticat",
            "unauthori",
            "not authorized",
            "not authorised",
            "authorization",
            "forbidden",
            "accessdenied",
            "access denied",
            "permission error",
            "permissiondenied",
            "insufficient permission",
            "must be verified",
            "verify organization",
            "verify your organization",
            "unable to locate credentials",
            "credentialserror",
            "lacks access",
            "default credentials",
            "expiredtoken",
            "unrecognizedclient",
            "invalid client",
            "invalid grant",
        ),
        patterns=_compile(
            _status(401, 403),
            r"\bapi ?key.{0,60}(?:incorrect|invalid|not valid|missing|expired|not found|not set|not"
            r" provided|"
            r"must be set|revoked|disabled|required)",
            r"\b(?:incorrect|invalid|missing|expired|no|wrong|bad|revoked|unknown) (?:x )?(?:api )?"
            r"(?:key|credentials?)\b",
            # Python's PermissionError names a file.
            r"permission denied(?!:? ?['\"]?/)",
            # OpenAI's "does not exist or you do not have access to it" is about the name of a
            # model.
            r"(?<!or you )(?:do not|does not|don't|doesn't) have (?:access|permission)",
            r"\btoken\b.{0,40} (?:invalid|expired)\b",
            r"\b(?:key|token|credentials?) (?:is|are|was|were) missing\b",
            r"\baccount\b.{0,40}(?:deactivated|suspended|disabled)",
        ),
    ),
    _ErrorWords(
        kind="timeout",
        phrases=(
            "timed out",
            "time out",
            "timing out",
            "timeouterror",
            "timeoutexception",
            "timeoutexpired",
            "deadline exceeded",
            "deadlineexceeded",
            "deadline has been exceeded",
            "etimedout",
            "too long to respond",
        ),
        patterns=_compile(
            # `timeout=30` and `'timeout'` are names of parameters.
            r"timeout(?!\w|['\"`]|=|\])",
            r"(?:did not|no) (?:answer|respond|response|reply) (?:with)?in \d",
            _status(408, 504, 522, 524),
        ),
    ),
    _ErrorWords(
        kind="connection",
        phrases=(
            "connectionerror",
            "connecterror",
            "connectionreset",
            "connectionrefused",
            "connectionaborted",
            "connectionclosed",
            "connection error",
            "connection fail",
            "connection pool",
            "connection lost",
            "connection dropped",
            "name resolution",
            "name or service not known",
            "nodename nor servname",
            "getaddrinfo",
            "could not resolve",
            "couldn't resolve",
            "failed to establish",
            "failed to connect",
            "cannot connect",
            "can't connect",
            "could not connect",
            "couldn't connect",
            "unable to connect",
            "connection attempts failed",
            "max retries exceeded",
            "remoteprotocolerror",
            "clientconnector",
            "clientoserror",
            "clientpayloaderror",
            "serverdisconnected",
            "disconnected",
            "certificate verify",
            "eof occurred",
            "unexpected eof",
            "incomplete chunked read",
            "chunkedencodingerror",
            "incompleteread",
            "network error",
            "network is unreachable",
            "network unreachable",
            "no route to host",
            "broken pipe",
            "brokenpipe",
            "socket hang up",
            "econnrefused",
            "econnreset",
            "econnaborted",
            "ehostunreach",
            "proxyerror",
            "proxy error",
            "fetch failed",
        ),
        patterns=_compile(
            r"\bconnection (?:was |has been |is |got )?(?:unexpectedly |forcibly )?"
            r"(?:reset|refused|abort|closed|broken|interrupted|terminated|lost|dropped)",
            r"\b(?:peer|remote|remote end|remote host|server|host) (?:unexpectedly )?(?:closed|hung"
            r" up)",
            r"\b(?:refused|closed|reset|dropped|lost|aborted) (?:the |a )?connection",
            r"\bconnection\b.{0,40}\b(?:lost|dropped|refused|reset)\b",
            r"\b(?:ssl|tls|dns|enotfound)\b|\bsslerror",
            r"\b(?:httpx|httpcore)\.(?:read|write|connect|network|transport|protocol)error",
        ),
    ),
    _ErrorWords(
        kind="server",
        phrases=(
            "internal server",
            "internalserver",
            "internal error",
            "internal failure",
            "internalfailure",
            "servererror",
            "server error",
            "server side error",
            "service error",
            "overloaded",
            "at capacity",
            "over capacity",
            "bad gateway",
            "badgateway",
            "unavailable",
            "currently unable to handle",
            "modelerrorexception",
            "modelnotready",
            "modelstreamerror",
            "while processing your request",
            "error processing your request",
            "error during processing",
            "upstream",
            "no healthy",
            "backend error",
            "bad response from",
            "something went wrong",
            "out of memory",
            "outofmemory",
            "enginedead",
            "engine is dead",
            "engine core died",
            "enginecore encountered",
            "model is loading",
            "model is still loading",
            "try again later",
            "try your request again",
        ),
        patterns=_compile(
            _status(500, 501, 502, 503, 505, 507, 520, 521, 523, 525, 526, 527, 529, 530),
            r"\b(?:cuda|gpu)\b.{0,20} error",
            r"\b(?:high|heavy) (?:load|demand|traffic)\b",
            r"\b(?:inference|model|api|backend|generation)"
            r" (?:server|service|engine|endpoint)\b.{0,20}"
            r"\b(?:crash|died|down|restart|stopped|failed)",
            r"\bservice\b.{0,20} down\b|\bmaintenance\b",
        ),
    ),
    _ErrorWords(
        kind="limit",
        phrases=(
            "graphrecursion",
            "recursion limit of",
        ),
        patterns=_compile(
            r"\b(?:max|maximum|limit) (?:number )?(?:of )?(?:allowed )?(?:agent |tool )?"
            r"(?:turn|step|iteration|round|message|action|call|attempt)s?\b",
            r"\b(?:turn|step|iteration|message|round|time|cost|working|action|token)s?"
            r" (?:limit|budget)\b",
            r"\bmax ?(?:turns|steps|iterations|rounds)",
            r"\bbudget of \d",
            r"\b(?:turns|steps|iterations|rounds|budget|cost)\b.{0,30}\b(?:exceed|exhaust|used"
            r" up|reached)",
            r"\b(?:exceeded|reached|hit|used"
            r" up)\b.{0,20}\b(?:turn|step|iteration|round|time|cost|message)s?\b.{0,10}"
            r"(?:limit|budget)",
        ),
    ),
    _ErrorWords(
        kind="tool_backend",
        phrases=(
            "mcperror",
            "sandbox",
            "tunnel error",
            "tunnelerror",
            "playwright",
            "toolcallerror",
            "tool call error",
            "tool call failed",
            "tool execution",
            "function execution",
        ),
        patterns=_compile(
            r"\bmcp\b",
            r"\bdocker\b",
            r"\btools? (?:server|backend|service|host|runtime|provider|endpoint|environment)\b",
            r"\bcontainer (?:is |was |has )?(?:not|exit|died|fail|stop|kill|crash)",
            r"\b(?:error|failure|failed|exception) (?:to |while |when |during )?"
            r"(?:calling|executing|running|invoking|call|execute|run) (?:the )?tool",
            r"\bbrowser (?:has been |was |is )?(?:closed|crash)",
        ),
    ),
    _ErrorWords(
        kind="harness",
        phrases=(
            "object is not",
            "object has no",
            "object does not support",
            "has no attribute",
            "keyerror",
            "typeerror",
            "attributeerror",
            "indexerror",
            "nameerror",
            "importerror",
            "modulenotfound",
            "assertionerror",
            "recursionerror",
            "zerodivisionerror",
            "unboundlocal",
            "notimplementederror",
            "unicodeencodeerror",
            "unicodedecodeerror",
            "filenotfounderror",
            "calledprocesserror",
            "memoryerror",
            "exceptiongroup",
            "taskgroup",
            "task group",
            "index out of",
            "pop from empty",
            "pop from an empty",
            "unexpected keyword argument",
            "positional argument",
            "keyword only argument",
            "unsupported operand",
            "unhashable type",
            "json serializable",
            "maximum recursion",
            "values to unpack",
            "cannot unpack",
            "could not convert",
            "referenced before assignment",
            "cannot access local variable",
            "is not defined",
            "indices must be",
            "stopiteration",
            "no module named",
            "cannot import name",
            "no such file",
            "codec can't",
            "invalid literal for int",
            "can only concatenate",
            "argument of type",
            "nonetype",
            "event loop is",
            "pydantic",
            "workerfailure",
            "exit code",
            "exit status",
            "exited with",
            "non zero exit",
            "nonzero",
            "segmentation fault",
            "core dumped",
            "sigkill",
            "sigterm",
        ),
        patterns=_compile(
            r"\d validation errors? for",
            r"\berrno \d",
            r"\bmust be str(?:ing)?, not",
            r"\bworker\b.{0,30}\b(?:died|crash|killed|failed|exited)",
            # A bare key in quotes is the text of Python's KeyError.
            r"\A['\"][\w .]{1,60}['\"]\Z",
        ),
    ),
    _ErrorWords(
        kind="bad_request",
        phrases=(
            "badrequest",
            "bad request",
            "invalid request",
            "invalidrequest",
            "invalid argument",
            "invalid value",
            "invalid type",
            "invalid parameter",
            "invalidparameter",
            "invalid schema",
            "invalid model",
            "invalid url",
            "invalid header",
            "invalid tool",
            "invalid input",
            "invalid json payload",
            "invalid role",
            "unprocessable",
            "validationexception",
            "validation error",
            "malformed request",
            "unsupported",
            "not support",
            "not allowed",
            "not permitted",
            "not a valid",
            "not found",
            "notfound",
            "not exist",
            "n't exist",
            "no such model",
            "not match",
            "not enabled",
            "invalid function name",
            "found without",
            "cannot find field",
            "got null",
            "null content",
            "payload too large",
            "entity too large",
            "must alternate",
            "must match",
            "failed precondition",
        ),
        patterns=_compile(
            _status(
                400,
                404,
                405,
                406,
                409,
                410,
                411,
                412,
                413,
                414,
                415,
                417,
                418,
                421,
                422,
                423,
                424,
                426,
                428,
                431,
            ),
            r"\b(?:unknown|unrecognized|unrecognised|unexpected|extra|missing|required|deprecated|duplicate|empty|"
            r"illegal) (?:required )?"
            r"(?:field|parameter|argument|name|model|input|value|property|key|role|content|message)",
            r"\b(?:should|must|cannot|can't|may not|expected)\b.{0,30}"
            r" (?:be|have|contain|start|end|follow|include)\b",
            r"\bis (?:too large|too small|required|invalid|null|empty)\b",
        ),
    ),
    # A limit of which the text does not say what it limits is one of the service.
    _ErrorWords(
        kind="rate_limit",
        phrases=(),
        patterns=_compile(
            r"\blimit\b.{0,20}\b(?:reached|exceeded|hit)\b",
            r"\b(?:exceeded|reached|hit)\b.{0,30}\blimit\b",
        ),
    ),
    # The name of a general exception says only where the failure was, so it counts only without any
    # other words.
    _ErrorWords(
        kind="harness",
        phrases=(
            "runtimeerror",
            "valueerror",
            "oserror",
            "systemerror",
            "cancellederror",
            "traceback",
        ),
    ),
)
"""The kinds in the order in which they are tried."""
