-- Functions of a team server: the only access that members have. `team create` replaces them on every call.
--
-- Each function runs with the rights of its owner and a fixed search_path, and reads the caller from session_user,
-- which no member can change. Errors carry an SQLSTATE FC... and never a text of another member's line.

CREATE OR REPLACE FUNCTION fcreview.schema_version() RETURNS int
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ SELECT max(version) FROM fcreview.migration $$;

-- The caller's row in `member`. Raises FC001 for anyone else, and for a member who has not joined yet.
CREATE OR REPLACE FUNCTION fcreview.require_member(roles text[] DEFAULT NULL, pending boolean DEFAULT false)
RETURNS fcreview.member
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member;
BEGIN
    SELECT * INTO me FROM fcreview.member m WHERE m.login = session_user AND m.role <> 'none';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the login % is not a member of a team', session_user USING ERRCODE = 'FC001';
    ELSIF me.joined IS NULL AND NOT pending THEN
        RAISE EXCEPTION 'the one-time password must be replaced first: run fcreview team join' USING ERRCODE = 'FC002';
    ELSIF me.role <> ALL (roles) THEN
        RAISE EXCEPTION 'this command needs the role %', array_to_string(roles, ' or ') USING ERRCODE = 'FC003';
    END IF;
    RETURN me;
END $$;

CREATE OR REPLACE FUNCTION fcreview.current_incarnation() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here text := (SELECT s.system_identifier || '/' || c.timeline_id || '/' || d.oid
        FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database());
    found int := (SELECT number FROM fcreview.incarnation WHERE home = here);
BEGIN
    IF found IS NULL THEN
        INSERT INTO fcreview.incarnation (home) VALUES (here) ON CONFLICT DO NOTHING;
        SELECT number INTO found FROM fcreview.incarnation WHERE home = here;
    END IF;
    RETURN found;
END $$;

-- A text of JSON as jsonb, which has no NUL characters: they become U+FFFD.
CREATE OR REPLACE FUNCTION fcreview.to_json(content text) RETURNS jsonb
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ SELECT replace(replace(content, '\\', '\u005c'), '\u0000', '\ufffd')::jsonb $$;

-- The identity of an item: a digest of its key. NULL for anything else.
CREATE OR REPLACE FUNCTION fcreview.item_of(key jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT sha256(convert_to(jsonb_build_array(
        key->>'benchmark', key->>'generation', key->>'language', key->>'model', key->>'category', key->>'id')::text,
        'UTF8'))
    WHERE jsonb_typeof(key) = 'object'
        AND key ?& ARRAY['benchmark', 'generation', 'language', 'model', 'category', 'id']
$$;

CREATE OR REPLACE FUNCTION fcreview.whoami(OUT project text, OUT annotator text, OUT role text, OUT reveal text,
    OUT has_joined boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.name, m.annotator, m.role, p.reveal, m.joined IS NOT NULL
    FROM fcreview.require_member(pending => true) m JOIN fcreview.project p USING (project)
$$;

-- Create a login or set its password. Belongs to fcreview_inviter, the only role that may, and only these functions
-- may call it. `verifier` is a SCRAM verifier: no password reaches the server in clear.
CREATE OR REPLACE FUNCTION fcreview.set_login(login name, verifier text, is_new boolean, valid_until text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF verifier !~ '^SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$' THEN
        RAISE EXCEPTION 'not a SCRAM-SHA-256 verifier' USING ERRCODE = 'FC004';
    END IF;
    IF is_new THEN
        EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS'
            ' IN ROLE fcreview_member PASSWORD %L VALID UNTIL %L', login, verifier, valid_until);
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''30s''', login);
    ELSE
        EXECUTE format('ALTER ROLE %I PASSWORD %L VALID UNTIL %L', login, verifier, valid_until);
    END IF;
END $$;

-- Add a member, or change the role of one. A login is PROJECT.NAME; its first password is valid for a week.
CREATE OR REPLACE FUNCTION fcreview.add_member(project int, new_annotator text, new_role text, verifier text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    new_login text := (SELECT p.name FROM fcreview.project p WHERE p.project = add_member.project)
        || '.' || new_annotator;
    old fcreview.member;
BEGIN
    SELECT * INTO old FROM fcreview.member m
        WHERE m.project = add_member.project AND lower(m.annotator) = lower(new_annotator);
    IF FOUND AND old.annotator <> new_annotator THEN
        RAISE EXCEPTION 'the annotator % exists already', old.annotator USING ERRCODE = 'FC004';
    ELSIF FOUND THEN
        UPDATE fcreview.member m SET role = new_role, generation = m.generation + 1 WHERE m.login = old.login;
        IF old.joined IS NULL THEN
            PERFORM fcreview.set_login(old.login, verifier, false, (now() + interval '7 days')::text);
        END IF;
        RETURN CASE WHEN old.joined IS NULL THEN old.login::text END;
    ELSIF octet_length(new_login) > 63 THEN
        RAISE EXCEPTION 'the login % is longer than 63 bytes', new_login USING ERRCODE = 'FC004';
    ELSIF EXISTS (SELECT FROM pg_roles WHERE rolname = new_login) THEN
        RAISE EXCEPTION 'the server has a login % already', new_login USING ERRCODE = 'FC004';
    END IF;
    INSERT INTO fcreview.member (project, annotator, login, role)
        VALUES (add_member.project, new_annotator, new_login, new_role);
    PERFORM fcreview.set_login(new_login, verifier, true, (now() + interval '7 days')::text);
    RETURN new_login;
END $$;

-- Create a project with its first lead. For the administrator of the server only.
CREATE OR REPLACE FUNCTION fcreview.create_project(name text, reveal text, lead text, verifier text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE number int;
BEGIN
    INSERT INTO fcreview.project (name, reveal) VALUES (create_project.name, create_project.reveal)
        RETURNING project INTO number;
    RETURN fcreview.add_member(number, lead, 'lead', verifier);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'the project % exists already', create_project.name USING ERRCODE = 'FC004';
END $$;

CREATE OR REPLACE FUNCTION fcreview.invite(annotator text, role text, verifier text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member(ARRAY['lead']);
BEGIN
    IF annotator = me.annotator THEN
        RAISE EXCEPTION 'a lead cannot change their own role' USING ERRCODE = 'FC004';
    END IF;
    RETURN fcreview.add_member(me.project, annotator, role, verifier);
END $$;

-- Replace the one-time password by the member's own. Later, members change it with ALTER ROLE as everywhere.
CREATE OR REPLACE FUNCTION fcreview.accept(verifier text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member(pending => true);
BEGIN
    IF me.joined IS NOT NULL THEN
        RAISE EXCEPTION 'the login % has joined already', me.login USING ERRCODE = 'FC004';
    END IF;
    PERFORM fcreview.set_login(me.login, verifier, false, 'infinity');
    UPDATE fcreview.member m SET joined = now() WHERE m.login = me.login;
END $$;

-- Whether the content of a line is about the item itself and its own criterion, as it was first presented. A review of a
-- part, of another criterion or of a hidden duplicate says nothing about the item's verdict.
CREATE OR REPLACE FUNCTION fcreview.is_about_item(content jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(content->>'target', 'item') = 'item' AND coalesce(content->>'criterion', 'correct') = 'correct'
        AND coalesce(content->>'presentation', '1') = '1'
$$;

-- Whether a line is a review with a real verdict on the item: pass or fail. "unsure", an empty text, a list and any
-- other value are none.
CREATE OR REPLACE FUNCTION fcreview.is_item_verdict(content jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT content->>'act' = 'review' AND fcreview.is_about_item(content)
        AND coalesce(jsonb_typeof(content->'verdict'), 'null') = 'boolean'
$$;

-- Whether a line is an adjudication that settles the item: pass, fail, or a fault without a verdict.
CREATE OR REPLACE FUNCTION fcreview.settles_item(content jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT content->>'act' = 'adjudicate' AND fcreview.is_about_item(content)
        AND CASE coalesce(jsonb_typeof(content->'verdict'), 'null')
            WHEN 'boolean' THEN true
            WHEN 'null' THEN coalesce(content->>'fault', '') <> ''
            ELSE false
        END
$$;

-- The place of a line that is written at a time and follows a line at the place `former` (NULL for none). The rule is in
-- store/reviews/line_order.py: stamps with a later time stay, and the time of the line becomes the last stamp.
CREATE OR REPLACE FUNCTION fcreview.next_place(former text[], written text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    later text[] := '{}';
    stamp text;
    clock text;
    step bigint := 0;
BEGIN
    FOREACH stamp IN ARRAY coalesce(former, '{}') LOOP
        clock := regexp_replace(stamp, ' [0-9]+$', '');
        IF clock > written COLLATE "C" THEN
            later := later || stamp;
        ELSIF clock = written THEN
            step := greatest(step, substring(stamp FROM '[0-9]+$')::bigint + 1);
        END IF;
    END LOOP;
    IF cardinality(later) = 8 THEN
        stamp := later[8];
        RETURN later[1:7] || (regexp_replace(stamp, ' [0-9]+$', '') || ' '
            || substring(stamp FROM '[0-9]+$')::bigint + 1);
    END IF;
    RETURN later || (written || ' ' || step);
END $$;

-- The place of a line: the one that the line states, else the one that follows the place of the previous line. NULL if
-- the server has the previous line, but does not know its place yet.
CREATE OR REPLACE FUNCTION fcreview.find_place(project int, annotator text, content jsonb) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stated jsonb := content->'place';
    former fcreview.line;
BEGIN
    IF jsonb_typeof(stated) = 'array' THEN
        IF jsonb_array_length(stated) BETWEEN 1 AND 8 AND NOT EXISTS (SELECT FROM jsonb_array_elements(stated) s
            WHERE jsonb_typeof(s) <> 'string' OR s#>>'{}' !~ '^.* [0-9]{1,15}$')
        THEN
            RETURN ARRAY(SELECT jsonb_array_elements_text(stated));
        END IF;
    END IF;
    SELECT * INTO former FROM fcreview.line l WHERE l.project = find_place.project
        AND l.annotator = find_place.annotator AND l.hash = content->>'previous';
    IF FOUND AND former.place IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN fcreview.next_place(former.place, coalesce(content->>'time', ''));
END $$;

-- Fill the columns of version 2 in lines that version 1 received. A line follows its previous line, so lines whose
-- previous line arrived later wait for the next pass. For `team create` only.
CREATE OR REPLACE FUNCTION fcreview.complete_lines() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    former fcreview.line;
    content jsonb;
    found_place text[];
    filled int;
BEGIN
    LOOP
        filled := 0;
        FOR former IN SELECT * FROM fcreview.line l WHERE l.place IS NULL ORDER BY l.seq LOOP
            content := fcreview.to_json(convert_from(former.body, 'UTF8'));
            found_place := fcreview.find_place(former.project, former.annotator, content);
            CONTINUE WHEN found_place IS NULL;
            UPDATE fcreview.line l SET place = found_place, is_verdict = fcreview.is_item_verdict(content), settles = fcreview.settles_item(content)
                WHERE l.project = former.project AND l.annotator = former.annotator AND l.hash = former.hash;
            filled := filled + 1;
        END LOOP;
        EXIT WHEN filled = 0;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION fcreview.has_verdict(project int, item bytea, annotator text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM fcreview.line l
        WHERE l.project = has_verdict.project AND l.item = has_verdict.item AND l.annotator = has_verdict.annotator
            AND l.is_verdict AND NOT EXISTS (
                SELECT FROM fcreview.line r WHERE r.project = l.project AND r.item = l.item
                    AND r.annotator = l.annotator AND r.retracts = l.event))
$$;

-- Reveal the items to everyone (`closed`: adjudicated, or a verdict by everyone to whom a queue assigns the item) or
-- to the annotator (`own`: the annotator's own verdict stands). Only verdicts on the item's own criterion count.
CREATE OR REPLACE FUNCTION fcreview.reveal_items(project int, items bytea[], annotator text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule text := (SELECT p.reveal FROM fcreview.project p WHERE p.project = reveal_items.project);
    each bytea;
    reader text;
BEGIN
    FOR each IN SELECT DISTINCT unnest(items) LOOP
        reader := NULL;
        IF rule = 'own' AND fcreview.has_verdict(project, each, annotator) THEN
            reader := annotator;
        ELSIF rule = 'closed' AND (
            EXISTS (SELECT FROM fcreview.line l
                WHERE l.project = reveal_items.project AND l.item = each AND l.settles AND NOT EXISTS (
                    SELECT FROM fcreview.line r WHERE r.project = l.project AND r.item = l.item
                        AND r.annotator = l.annotator AND r.retracts = l.event))
            OR (SELECT bool_and(fcreview.has_verdict(a.project, a.item, a.annotator)) FROM fcreview.assignment a
                WHERE a.project = reveal_items.project AND a.item = each)
        ) THEN
            reader := '';
        END IF;
        IF reader IS NOT NULL THEN
            INSERT INTO fcreview.reveal (project, item, reader, incarnation)
                VALUES (reveal_items.project, each, reader, fcreview.current_incarnation()) ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
END $$;

-- Reveal items by the lines that all members can have received. `push` must not do this: a caller who rolls it back
-- could learn whether the item would be revealed, and nothing would show it. Returns whether lines are left.
CREATE OR REPLACE FUNCTION fcreview.settle() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me fcreview.member := fcreview.require_member();
    home int := fcreview.current_incarnation();
    upto xid8 := pg_snapshot_xmin(pg_current_snapshot());
    start xid8;
    former int;
    former_upto xid8;
    bound xid8;
    verdicts record;
BEGIN
    IF EXISTS (SELECT FROM fcreview.project p WHERE p.project = me.project AND p.settled_in = home AND NOT EXISTS (
        SELECT FROM fcreview.line l WHERE l.project = me.project AND l.incarnation = home
            AND l.xid >= p.settled_upto AND l.xid < upto))
    THEN
        RETURN false;
    END IF;
    SELECT p.settled_in, p.settled_upto INTO former, former_upto FROM fcreview.project p
        WHERE p.project = me.project FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN  -- another call does this now
        RETURN false;
    END IF;
    start := CASE WHEN former = home THEN former_upto ELSE '0' END;
    SELECT l.xid INTO bound FROM fcreview.line l WHERE l.project = me.project AND l.incarnation = home
        AND l.xid >= start AND l.xid < upto ORDER BY l.xid OFFSET 5000 LIMIT 1;
    IF bound > start THEN
        upto := bound;
    END IF;
    FOR verdicts IN SELECT l.annotator, array_agg(DISTINCT l.item) AS items FROM fcreview.line l
        WHERE l.project = me.project AND (l.is_verdict OR l.settles) AND (
            l.incarnation = home AND l.xid >= start AND l.xid < upto
            OR l.incarnation <> home AND former IS NULL
            OR l.incarnation <> home AND l.incarnation = former AND l.xid >= former_upto)
        GROUP BY l.annotator
    LOOP
        PERFORM fcreview.reveal_items(me.project, verdicts.items, verdicts.annotator);
    END LOOP;
    UPDATE fcreview.project p SET settled_in = home, settled_upto = greatest(start, upto)
        WHERE p.project = me.project;
    RETURN coalesce(bound > start, false);
END $$;

-- Append lines of the caller. Returns the lines that were refused, by position from 1, with the reason. Lines that the
-- server has already are ignored.
CREATE OR REPLACE FUNCTION fcreview.push(lines bytea[]) RETURNS TABLE (place int, reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me fcreview.member := fcreview.require_member();
    home int := fcreview.current_incarnation();
    sees_all boolean := me.role IN ('adjudicator', 'lead');
    content jsonb;
    subject bytea;
    n int;
BEGIN
    IF cardinality(lines) > 1000 THEN
        RAISE EXCEPTION 'more than 1000 lines at once' USING ERRCODE = 'FC004';
    END IF;
    FOR n IN 1 .. cardinality(lines) LOOP
        place := n;
        BEGIN
            content := fcreview.to_json(convert_from(lines[n], 'UTF8'));
            subject := fcreview.item_of(content->'key');
        EXCEPTION WHEN data_exception OR statement_too_complex OR program_limit_exceeded THEN
            content := NULL;
        END;
        reason := CASE
            WHEN content IS NULL OR subject IS NULL OR content->>'event' IS NULL
                OR coalesce(content->>'hash', '') !~ '^[0-9a-f]{32}$'
                OR position('\x0a'::bytea IN lines[n]) > 0 OR content->>'act' IS NULL
                OR content->>'act' NOT IN ('review', 'retract', 'adjudicate')
                OR octet_length(lines[n]) > 4000000
                THEN 'not a journal line'
            WHEN content->>'annotator' IS DISTINCT FROM me.annotator THEN 'written by another annotator'
            WHEN content->>'act' = 'adjudicate' AND NOT sees_all THEN 'adjudication needs the role adjudicator'
        END;
        IF reason IS NOT NULL THEN
            RETURN NEXT;
            CONTINUE;
        END IF;
        INSERT INTO fcreview.line AS l
            (project, annotator, hash, event, item, act, is_verdict, settles, retracts, informed, body, incarnation, place)
        VALUES (
            me.project, me.annotator, content->>'hash', content->>'event', subject, content->>'act',
            fcreview.is_item_verdict(content), fcreview.settles_item(content),
            content->>'retracts',
            (sees_all OR EXISTS (SELECT FROM fcreview.reveal r WHERE r.project = me.project AND r.item = subject
                AND r.reader IN ('', me.annotator)))
            AND EXISTS (SELECT FROM fcreview.line o WHERE o.project = me.project AND o.item = subject
                AND o.annotator <> me.annotator),
            lines[n], home, fcreview.find_place(me.project, me.annotator, content))
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- Each line comes with its place in the order of its annotator's lines, because the caller cannot compute the place from
-- some of the lines.
-- Lines that the caller may see and that are new since `since`, a cursor of an earlier call (empty for all). The first
-- row holds only the next cursor: incarnation, generation of the member, the oldest transaction that was running (every
-- older one has ended, so no line can appear below it later), and a witness: the transaction and the hash of the newest
-- line below it. If the server does not have the witness, it was restored from an older backup, and sends all lines.
CREATE OR REPLACE FUNCTION fcreview.pull(since text)
RETURNS TABLE (next text, annotator text, informed boolean, body bytea, place text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me fcreview.member := fcreview.require_member();
    home int := fcreview.current_incarnation();
    upto xid8 := pg_snapshot_xmin(pg_current_snapshot());
    prefix text := home || '.' || me.generation || '.';
    parts text[] := regexp_match(since, '^([0-9]+\.[0-9]+\.)([0-9]{1,18})(?:\.([0-9]{1,18})-(\w+))?$');
    start xid8 := '0';
BEGIN
    IF parts[1] = prefix AND parts[2]::xid8 <= upto AND (parts[3] IS NULL OR EXISTS (
        SELECT FROM fcreview.line l WHERE l.project = me.project AND l.incarnation = home
            AND l.xid = parts[3]::xid8 AND left(l.hash, 8) = parts[4]))
    THEN
        start := parts[2]::xid8;
    END IF;
    RETURN QUERY SELECT prefix || upto || coalesce((
            SELECT '.' || l.xid || '-' || left(l.hash, 8) FROM fcreview.line l
            WHERE l.project = me.project AND l.incarnation = home AND l.xid < upto ORDER BY l.xid DESC LIMIT 1), ''),
        NULL::text, NULL::boolean, NULL::bytea, NULL::text[];
    IF start = '0' THEN
        RETURN QUERY SELECT NULL::text, l.annotator, l.informed, l.body, l.place
            FROM fcreview.line l
            WHERE l.project = me.project AND (l.incarnation <> home OR l.xid < upto)
                AND (l.annotator = me.annotator OR me.role IN ('adjudicator', 'lead') OR l.item IN (
                    SELECT r.item FROM fcreview.reveal r WHERE r.project = me.project
                        AND r.reader IN ('', me.annotator) AND (r.incarnation <> home OR r.xid < upto)))
            ORDER BY l.annotator, l.seq;
        RETURN;
    END IF;
    RETURN QUERY SELECT NULL::text, l.annotator, l.informed, l.body, l.place
            FROM fcreview.line l
        WHERE l.project = me.project AND l.incarnation = home AND l.xid >= start AND l.xid < upto
            AND (l.annotator = me.annotator OR me.role IN ('adjudicator', 'lead') OR EXISTS (
                SELECT FROM fcreview.reveal r WHERE r.project = me.project AND r.item = l.item
                    AND r.reader IN ('', me.annotator) AND (r.incarnation <> home OR r.xid < upto)))
        ORDER BY l.annotator, l.seq;
    IF me.role = 'annotator' THEN  -- earlier lines of the items that were revealed since
        RETURN QUERY SELECT NULL::text, l.annotator, l.informed, l.body, l.place
            FROM fcreview.reveal r JOIN fcreview.line l ON l.project = r.project AND l.item = r.item
            WHERE r.project = me.project AND r.incarnation = home AND r.xid >= start AND r.xid < upto
                AND r.reader IN ('', me.annotator) AND l.annotator <> me.annotator
                AND (l.incarnation <> home OR l.xid < start)
            ORDER BY l.annotator, l.seq;
    END IF;
END $$;

-- Which of the caller's own lines the server lacks, by hash.
CREATE OR REPLACE FUNCTION fcreview.missing(hashes text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member();
BEGIN
    RETURN QUERY SELECT h FROM unnest(hashes) h
        EXCEPT ALL SELECT l.hash FROM fcreview.line l WHERE l.project = me.project AND l.annotator = me.annotator;
END $$;

CREATE OR REPLACE FUNCTION fcreview.members()
RETURNS TABLE (annotator text, role text, has_joined boolean, lines bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member();
BEGIN
    RETURN QUERY SELECT m.annotator, m.role, m.joined IS NOT NULL,
            (SELECT count(*) FROM fcreview.line l WHERE l.project = m.project AND l.annotator = m.annotator)
        FROM fcreview.member m WHERE m.project = me.project ORDER BY m.annotator;
END $$;

-- Transactions of the whole server that have written for 5 seconds: no newer line is delivered before they end.
CREATE OR REPLACE FUNCTION fcreview.holders() RETURNS TABLE (what text, login text, seconds int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM fcreview.require_member();
    RETURN QUERY SELECT 'process ' || a.pid, a.usename::text, extract(epoch FROM now() - a.xact_start)::int
            FROM pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.xact_start < now() - interval '5 seconds'
        UNION ALL SELECT 'prepared transaction ' || x.gid, x.owner::text, extract(epoch FROM now() - x.prepared)::int
            FROM pg_prepared_xacts x;
END $$;

-- Save a queue file, and assign its items: [{"annotator": NAME, "keys": [KEY, ...]}, ...].
CREATE OR REPLACE FUNCTION fcreview.assign(queue text, body bytea, shares text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me fcreview.member := fcreview.require_member(ARRAY['lead']);
    stranger text := (SELECT string_agg(s->>'annotator', ', ') FROM jsonb_array_elements(fcreview.to_json(shares)) s
        WHERE NOT EXISTS (SELECT FROM fcreview.member m WHERE m.project = me.project AND m.role <> 'none'
            AND m.annotator = s->>'annotator'));
BEGIN
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION 'not a member of the team: %', stranger USING ERRCODE = 'FC004';
    END IF;
    PERFORM FROM fcreview.project p WHERE p.project = me.project FOR NO KEY UPDATE;
    INSERT INTO fcreview.queue (project, name, body) VALUES (me.project, assign.queue, assign.body);
    INSERT INTO fcreview.assignment (project, queue, item, annotator)
        SELECT me.project, assign.queue, fcreview.item_of(k), s->>'annotator'
        FROM jsonb_array_elements(fcreview.to_json(shares)) s, jsonb_array_elements(s->'keys') k
        ON CONFLICT DO NOTHING;
    PERFORM fcreview.reveal_items(me.project, array_agg(DISTINCT a.item), me.annotator) FROM fcreview.assignment a
        WHERE a.project = me.project AND a.queue = assign.queue;
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'the team has a queue % already', assign.queue USING ERRCODE = 'FC004';
END $$;

CREATE OR REPLACE FUNCTION fcreview.queues() RETURNS TABLE (name text, body bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member();
BEGIN
    RETURN QUERY SELECT q.name, q.body FROM fcreview.queue q WHERE q.project = me.project ORDER BY q.created, q.name;
END $$;

-- Report what the caller reviews: [[run, items, golden, predictions], ...]. Replaces an earlier report.
CREATE OR REPLACE FUNCTION fcreview.report_datasets(runs text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member();
BEGIN
    DELETE FROM fcreview.dataset d WHERE d.project = me.project AND d.annotator = me.annotator;
    INSERT INTO fcreview.dataset
        SELECT me.project, me.annotator, r->>0, (r->>1)::int, r->>2, r->>3
        FROM jsonb_array_elements(fcreview.to_json(runs)) r LIMIT 1000
        ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION fcreview.datasets()
RETURNS TABLE (annotator text, run text, items int, golden text, predictions text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE me fcreview.member := fcreview.require_member();
BEGIN
    RETURN QUERY SELECT d.annotator, d.run, d.items, d.golden, d.predictions FROM fcreview.dataset d
        WHERE d.project = me.project ORDER BY d.annotator, d.run;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fcreview FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA fcreview FROM PUBLIC;
GRANT USAGE ON SCHEMA fcreview TO fcreview_member;
GRANT EXECUTE ON FUNCTION
    fcreview.schema_version, fcreview.whoami, fcreview.invite, fcreview.accept, fcreview.push, fcreview.settle,
    fcreview.pull, fcreview.missing, fcreview.members, fcreview.holders, fcreview.assign, fcreview.queues, fcreview.report_datasets,
    fcreview.datasets
TO fcreview_member;
