-- Lists are filtered and counted without a look at the rows: status and kind stand in the indexes of activity, and what
-- has an expiry of its own in an index of it.

DROP INDEX conversation_by_activity;
DROP INDEX conversation_by_project;

CREATE INDEX conversation_by_activity ON conversation (active, id, status, kind);
CREATE INDEX conversation_by_project ON conversation (project, active, id, status, kind);
CREATE INDEX conversation_by_expiry ON conversation (expires) WHERE expires IS NOT NULL;
