-- Version 2 of the tables of a team server: what the order of an annotator's lines needs, and which lines reveal.
--
-- `place` is the place of a line in the order of the annotator's lines: a list of stamps, each a time and a step. The
-- rule is in store/reviews/line_order.py.
-- `settles`: whether the line is an adjudication that settles the item's own criterion.
-- The columns of older lines are filled by fcreview.complete_lines().

ALTER TABLE fcreview.line ADD COLUMN place text[];
ALTER TABLE fcreview.line ADD COLUMN settles boolean NOT NULL DEFAULT false;

-- The new version returns other columns.
DROP FUNCTION IF EXISTS fcreview.pull(text);
