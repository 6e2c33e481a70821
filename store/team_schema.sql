-- Tables of a team server. Version 1; later versions are further files (`setup.MIGRATIONS`).
--
-- All tables belong to fcreview_owner, a role without login and without members. Members of a team can only call the
-- functions of functions.sql.

CREATE TABLE fcreview.migration (version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());

-- One row for each history of transaction numbers: a restored dump or a promoted copy continues with other numbers.
CREATE TABLE fcreview.incarnation (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home text NOT NULL UNIQUE
);

CREATE TABLE fcreview.project (
    project int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,29}$'),
    reveal text NOT NULL CHECK (reveal IN ('closed', 'own', 'never')),
    created timestamptz NOT NULL DEFAULT now(),
    -- Lines below this transaction have revealed what they reveal.
    settled_in int,
    settled_upto xid8 NOT NULL DEFAULT '0'
);

CREATE TABLE fcreview.member (
    project int NOT NULL REFERENCES fcreview.project,
    annotator text NOT NULL CHECK (length(annotator) BETWEEN 1 AND 64),
    login name NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('annotator', 'adjudicator', 'lead', 'none')),
    joined timestamptz,
    generation int NOT NULL DEFAULT 1,
    PRIMARY KEY (project, annotator)
);
CREATE UNIQUE INDEX member_name ON fcreview.member (project, lower(annotator));

-- Journal lines, byte for byte. The other columns are read from the line, except `informed`: whether the annotator
-- could see what others said on the item when the line arrived.
CREATE TABLE fcreview.line (
    project int NOT NULL,
    annotator text NOT NULL,
    hash text NOT NULL CHECK (length(hash) BETWEEN 1 AND 64),
    event text NOT NULL,
    item bytea NOT NULL,
    act text NOT NULL,
    is_verdict boolean NOT NULL,
    retracts text,
    informed boolean NOT NULL,
    body bytea NOT NULL,
    received timestamptz NOT NULL DEFAULT now(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    incarnation int NOT NULL REFERENCES fcreview.incarnation,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (project, annotator, hash),
    FOREIGN KEY (project, annotator) REFERENCES fcreview.member
);
CREATE INDEX line_item ON fcreview.line (project, item);
CREATE INDEX line_xid ON fcreview.line (project, incarnation, xid);

-- Items whose lines a reader may see. An empty reader stands for every member.
CREATE TABLE fcreview.reveal (
    project int NOT NULL REFERENCES fcreview.project,
    item bytea NOT NULL,
    reader text NOT NULL,
    incarnation int NOT NULL REFERENCES fcreview.incarnation,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (project, item, reader)
);
CREATE INDEX reveal_xid ON fcreview.reveal (project, incarnation, xid);

CREATE TABLE fcreview.queue (
    project int NOT NULL REFERENCES fcreview.project,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    body bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, name)
);

CREATE TABLE fcreview.assignment (
    project int NOT NULL,
    queue text NOT NULL,
    item bytea NOT NULL,
    annotator text NOT NULL,
    PRIMARY KEY (project, item, annotator, queue),
    FOREIGN KEY (project, queue) REFERENCES fcreview.queue
);

-- What each member reviews: digests of the golden answers and of the predictions of each run.
CREATE TABLE fcreview.dataset (
    project int NOT NULL,
    annotator text NOT NULL,
    run text NOT NULL CHECK (length(run) <= 1000),
    items int NOT NULL,
    golden text NOT NULL CHECK (length(golden) <= 64),
    predictions text NOT NULL CHECK (length(predictions) <= 64),
    PRIMARY KEY (project, annotator, run),
    FOREIGN KEY (project, annotator) REFERENCES fcreview.member
);

-- No function updates or deletes a line. The trigger also stops a mistake in a later version of them.
CREATE FUNCTION fcreview.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'journal lines cannot be changed or deleted' USING ERRCODE = 'FC006';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON fcreview.line
    FOR EACH ROW EXECUTE FUNCTION fcreview.refuse_change();
CREATE TRIGGER append_only_all BEFORE TRUNCATE ON fcreview.line
    FOR EACH STATEMENT EXECUTE FUNCTION fcreview.refuse_change();
