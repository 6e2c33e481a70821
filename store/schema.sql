-- The store contains the imported runs. It can be rebuilt from the benchmark files at any time; reviews are not in it.
-- Users query the views; `item_rows` is their base table.
-- The number of an item is run * 2^32 + seq.

CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR);

CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    key VARCHAR NOT NULL,            -- benchmark, generation, language, model and path as a JSON list
    benchmark VARCHAR, generation VARCHAR, language VARCHAR, model VARCHAR,
    path VARCHAR,                    -- relative to the folder that contains .fcreview/ if below it, else absolute
    dataset VARCHAR,
    needs_dataset BOOLEAN,           -- false if the result files contain questions and golden answers
    title VARCHAR,                   -- display name of the benchmark
    tags VARCHAR[],                  -- error tags of the benchmark, suggested to annotators
    settings JSON,
    official_metrics JSON,
    name VARCHAR,                    -- name that the user gave to the run, or empty
    name_parts VARCHAR[],            -- what can distinguish the run from others of the same model, most telling first
    facts JSON,                      -- name -> {name, value, reason}, see RunFact in fcreview/model/item.py
    not_run STRUCT(id VARCHAR, category VARCHAR)[],  -- items of the dataset without a result
    version INTEGER,                 -- RunPlan.import_fingerprint; another value means that the run is read again
    n_items INTEGER,
    imported_at VARCHAR              -- UTC, ISO 8601
);

CREATE TABLE sources (
    run INTEGER,
    path VARCHAR,
    kind VARCHAR,                    -- result, score, data or log
    size BIGINT,
    mtime_ns BIGINT,
    hash VARCHAR                     -- blake2b-16 of the content, hex
);

-- Messages and golden calls of questions, stored once for the items of all runs. The other messages and calls of an
-- item are in `item_rows`.
CREATE TABLE questions (
    hash BIGINT,
    messages STRUCT(turn INTEGER, step INTEGER, role VARCHAR, content VARCHAR, name VARCHAR)[],
    calls STRUCT(side VARCHAR, turn INTEGER, step INTEGER, "index" INTEGER, name VARCHAR, arguments JSON,
                 raw VARCHAR, decode_error VARCHAR)[]
);

-- Lists are compressed with zstd (see importing/builder.py), columns that queues read and filter with faster methods.
CREATE TABLE item_rows (
    item BIGINT, run INTEGER, seq INTEGER,
    id VARCHAR USING COMPRESSION fsst, category VARCHAR USING COMPRESSION dictionary,
    "group" VARCHAR USING COMPRESSION dictionary, question VARCHAR USING COMPRESSION fsst,
    official BOOLEAN, rule BOOLEAN, judge BOOLEAN,
    error_type VARCHAR USING COMPRESSION dictionary, rule_error_type VARCHAR USING COMPRESSION dictionary,
    rule_note VARCHAR USING COMPRESSION dictionary,
    n_turns INTEGER, n_steps INTEGER, n_golden INTEGER, n_predicted INTEGER, n_issues INTEGER,
    tokens_in BIGINT, tokens_out BIGINT, latency DOUBLE,
    seconds DOUBLE[],                -- latency of each step, if the benchmark has it; `latency` is the sum
    setting VARCHAR USING COMPRESSION dictionary,
    diff_function VARCHAR USING COMPRESSION dictionary, diff_argument VARCHAR USING COMPRESSION dictionary,
    first_difference VARCHAR USING COMPRESSION fsst,
    diff_golden VARCHAR USING COMPRESSION fsst, diff_predicted VARCHAR USING COMPRESSION fsst,
    decisive_step VARCHAR USING COMPRESSION dictionary,  -- kind of the guessed decisive step
    ended VARCHAR USING COMPRESSION dictionary,          -- how the conversation ended, such as user_stop or max_steps
    incident VARCHAR USING COMPRESSION dictionary,       -- why the answer is missing or cut, see model/incident.py
    incident_text VARCHAR USING COMPRESSION fsst,
    incident_where VARCHAR USING COMPRESSION dictionary,
    incident_certainty VARCHAR USING COMPRESSION dictionary,  -- marked, rule or weak
    flags VARCHAR[],                 -- see ItemFlag in fcreview/model/item.py
    prediction_hash VARCHAR USING COMPRESSION fsst, golden_hash VARCHAR USING COMPRESSION fsst,
    file VARCHAR USING COMPRESSION dictionary, line BIGINT, "offset" BIGINT, length BIGINT,
    functions VARCHAR[],             -- functions.hash
    question_hash BIGINT,            -- questions.hash
    task_sections STRUCT(title VARCHAR, "text" VARCHAR, reveals_golden BOOLEAN)[],  -- see TaskSection in model/item.py
    extra JSON,                      -- see fcreview/model/item.py: {failing_turn, state_differences, ..., more: {...}}
    messages STRUCT(turn INTEGER, step INTEGER, role VARCHAR, content VARCHAR, name VARCHAR)[],
    calls STRUCT(side VARCHAR, turn INTEGER, step INTEGER, "index" INTEGER, name VARCHAR, arguments JSON,
                 raw VARCHAR, decode_error VARCHAR)[],
    pairs STRUCT(turn INTEGER, golden INTEGER, predicted INTEGER, name VARCHAR, state VARCHAR,
                 diff STRUCT(path VARCHAR, state VARCHAR, reason VARCHAR)[])[],
    verdicts STRUCT(source VARCHAR, "value" JSON, target VARCHAR, criterion VARCHAR, error_type VARCHAR,
                    rationale VARCHAR, "by" VARCHAR, failure VARCHAR)[]
);

CREATE TABLE functions (hash VARCHAR, name VARCHAR, document JSON);

CREATE TABLE import_issues (
    run INTEGER,                     -- null if the issue belongs to the search for runs
    item BIGINT,                     -- null if the issue belongs to a file
    id VARCHAR,                      -- id of the item in the benchmark
    file VARCHAR, line BIGINT, what VARCHAR, raw VARCHAR, severity VARCHAR
);

CREATE VIEW items AS
SELECT i.item, i.run, i.seq, i.id, r.benchmark, r.generation, r.language, r.model, i.category, i."group", i.question,
       i.n_turns, i.n_steps, i.n_golden, i.n_predicted, i.n_issues, i.official, i.rule, i.judge,
       i.error_type, i.rule_error_type, i.rule_note, i.diff_function, i.diff_argument, i.first_difference,
       i.diff_golden, i.diff_predicted, i.decisive_step, i.ended,
       i.incident, i.incident_text, i.incident_where, i.incident_certainty, i.flags,
       i.tokens_in, i.tokens_out, i.latency, i.seconds, i.setting, i.prediction_hash, i.golden_hash,
       i.file, i.line, i."offset", i.length, i.functions, i.extra
FROM item_rows i JOIN runs r USING (run);

CREATE VIEW messages AS
SELECT item, run, id, m.turn, m.step, m.role, m.name, m.content
FROM (SELECT i.item, i.run, i.id, unnest(list_concat(q.messages, i.messages)) AS m
      FROM item_rows i LEFT JOIN questions q ON q.hash = i.question_hash);

CREATE VIEW task_sections AS
SELECT item, run, id, s.title, s."text" FROM (SELECT item, run, id, unnest(task_sections) AS s FROM item_rows);

CREATE VIEW calls AS
SELECT item, run, id, c.side, c.turn, c.step, c."index", c.name, c.arguments, c.raw, c.decode_error
FROM (SELECT i.item, i.run, i.id, unnest(list_concat(q.calls, i.calls)) AS c
      FROM item_rows i LEFT JOIN questions q ON q.hash = i.question_hash);

CREATE VIEW pairs AS
SELECT item, run, id, p.turn, p.golden, p.predicted, p.name, p.state, p.diff
FROM (SELECT item, run, id, unnest(pairs) AS p FROM item_rows);

CREATE VIEW verdicts AS
SELECT item, run, id, v.source, v.target, v.criterion, v."value", v.error_type, v.rationale, v."by", v.failure
FROM (SELECT item, run, id, unnest(verdicts) AS v FROM item_rows);

CREATE VIEW not_run AS
SELECT run, m.id, m.category FROM (SELECT run, unnest(not_run) AS m FROM runs);
