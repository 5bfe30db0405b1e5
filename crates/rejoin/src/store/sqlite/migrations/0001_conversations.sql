-- Conversations, messages, branches, blobs and the log of changes.

CREATE TABLE conversation (
    n         INTEGER PRIMARY KEY,
    id        BLOB    NOT NULL UNIQUE,  -- 16 bytes
    short     TEXT    NOT NULL,
    project   TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    slug      TEXT    NOT NULL,
    status    INTEGER NOT NULL,
    hold      INTEGER NOT NULL,
    expires   INTEGER,                  -- microseconds, when custom
    created   INTEGER NOT NULL,
    active    INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    next      INTEGER NOT NULL,         -- the sequence of the next message
    indexed   INTEGER NOT NULL,         -- the last sequence that the search index covers
    messages  INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    roots     INTEGER NOT NULL,
    branches  INTEGER NOT NULL,
    head      INTEGER,                  -- a sequence
    first     TEXT    NOT NULL,
    last      TEXT    NOT NULL,
    header    TEXT    NOT NULL
) STRICT;

CREATE INDEX conversation_by_activity ON conversation (active, id);
CREATE INDEX conversation_by_project ON conversation (project, active, id);
CREATE INDEX conversation_by_short ON conversation (short);
CREATE INDEX conversation_by_slug ON conversation (slug) WHERE slug <> '';
CREATE INDEX conversation_to_index ON conversation (n) WHERE next > indexed + 1;

-- The key puts a conversation's messages side by side in order of arrival: (n << 32) + sequence.
-- The body stands last, so that reading the other columns never touches its overflow pages.
CREATE TABLE message (
    key       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL,
    parent    INTEGER,                  -- a sequence
    children  INTEGER NOT NULL,
    depth     INTEGER NOT NULL,         -- how many ancestors
    turn      INTEGER NOT NULL,
    flags     INTEGER NOT NULL,         -- 1 pinned, 2 began a branch
    digest    BLOB    NOT NULL,         -- 32 bytes
    label     TEXT,
    body      TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX message_by_id ON message (key >> 32, id);

CREATE TABLE branch (
    n         INTEGER NOT NULL REFERENCES conversation (n) ON DELETE CASCADE,
    id        TEXT    NOT NULL,
    position  INTEGER NOT NULL,
    title     TEXT    NOT NULL,
    head      INTEGER NOT NULL,         -- a sequence
    PRIMARY KEY (n, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    space     INTEGER NOT NULL,
    owner     BLOB    NOT NULL,         -- a conversation's id, or empty
    name      BLOB    NOT NULL,
    bytes     BLOB    NOT NULL,
    PRIMARY KEY (space, owner, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
    stamp     INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    what      INTEGER NOT NULL,
    detail    ANY
) STRICT;
