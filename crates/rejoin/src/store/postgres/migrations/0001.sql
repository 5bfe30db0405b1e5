-- Conversations, messages, branches, blobs and the log of changes. The conversation leads every key.
-- `~` stands for the schema.

CREATE TABLE ~conversation (
    id        uuid     PRIMARY KEY,
    revision  bigint   NOT NULL,  -- counts commits, so that a commit knows whether it saw the last one
    short     text     COLLATE "C" NOT NULL,
    project   text     COLLATE "C" NOT NULL,
    kind      text     COLLATE "C" NOT NULL,
    slug      text     COLLATE "C" NOT NULL,
    status    smallint NOT NULL,
    hold      smallint NOT NULL,
    expires   bigint,             -- microseconds, when custom
    created   bigint   NOT NULL,
    active    bigint   NOT NULL,
    version   bigint   NOT NULL,
    next      bigint   NOT NULL,  -- the sequence of the next message
    messages  bigint   NOT NULL,
    bytes     bigint   NOT NULL,
    roots     bigint   NOT NULL,
    branches  bigint   NOT NULL,
    head      bigint,             -- a sequence
    first     bytea    NOT NULL,
    last      bytea    NOT NULL,
    header    bytea    NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX conversation_by_activity ON ~conversation (active, id);
CREATE INDEX conversation_by_project ON ~conversation (project, active, id);
CREATE INDEX conversation_by_short ON ~conversation (short);
CREATE INDEX conversation_by_slug ON ~conversation (slug) WHERE slug <> '';
CREATE INDEX conversation_by_expiry ON ~conversation (expires) WHERE expires IS NOT NULL;

CREATE TABLE ~message (
    conversation uuid  NOT NULL,
    seq       bigint   NOT NULL,  -- from 1, in order of arrival
    id        text     COLLATE "C" NOT NULL,
    parent    bigint,             -- a sequence
    children  bigint   NOT NULL,
    depth     bigint   NOT NULL,  -- how many ancestors
    turn      bigint   NOT NULL,
    flags     smallint NOT NULL,  -- 1 pinned, 2 began a branch, 4 has too many words for the index
    digest    bytea    NOT NULL,  -- 32 bytes
    time      bigint   NOT NULL,  -- microseconds
    label     bytea,
    words     tsvector,           -- what a search finds it by; null where there is nothing to search
    body      bytea    NOT NULL,
    PRIMARY KEY (conversation, seq)
);

CREATE UNIQUE INDEX message_by_id ON ~message (conversation, id);
CREATE INDEX message_by_name ON ~message (id, conversation);
CREATE INDEX message_by_time ON ~message (time, conversation, seq) WHERE words IS NOT NULL;
CREATE INDEX message_by_words ON ~message USING gin (words);
CREATE INDEX message_without_index ON ~message (conversation, seq) WHERE flags & 4 <> 0;

CREATE TABLE ~branch (
    conversation uuid  NOT NULL,
    id        text     COLLATE "C" NOT NULL,
    position  bigint   NOT NULL,
    title     bytea    NOT NULL,
    head      bigint   NOT NULL,  -- a sequence
    PRIMARY KEY (conversation, id)
);

CREATE TABLE ~blob (
    owner     uuid     NOT NULL,  -- a conversation, or zero
    space     smallint NOT NULL,
    name      bytea    NOT NULL,
    bytes     bytea    NOT NULL,
    PRIMARY KEY (owner, space, name)
);

CREATE TABLE ~change (
    conversation uuid  NOT NULL,
    stamp     bigint   NOT NULL,  -- the transaction's number << 20, and its place in it
    at        bigint   NOT NULL,
    what      smallint NOT NULL,
    messages  bigint,             -- of what 1: how many there are
    reason    bytea,              -- of what 3 and 4
    tag       bigint   NOT NULL,  -- random, by which a writer that lost its connection finds its commit
    PRIMARY KEY (conversation, stamp)
);

CREATE INDEX change_by_stamp ON ~change (stamp);

-- What is added to a transaction's number, so that stamps go on growing where a dump is loaded into another server.
CREATE TABLE ~epoch (
    one       smallint PRIMARY KEY CHECK (one = 1),
    added     bigint   NOT NULL
);

INSERT INTO ~epoch VALUES (1, 0);

-- The transaction that last removed something, and up to which one what was removed is gone from the files.
CREATE TABLE ~erasure (
    one       smallint PRIMARY KEY CHECK (one = 1),
    removed   bigint   NOT NULL,
    erased    bigint   NOT NULL
);

INSERT INTO ~erasure VALUES (1, 0, 0);

-- Statistics hold samples of what a column has, and would keep them after a removal.
ALTER TABLE ~conversation ALTER slug SET STATISTICS 0, ALTER first SET STATISTICS 0, ALTER last SET STATISTICS 0,
    ALTER header SET STATISTICS 0;
ALTER TABLE ~message ALTER label SET STATISTICS 0, ALTER words SET STATISTICS 0, ALTER body SET STATISTICS 0;
ALTER TABLE ~branch ALTER title SET STATISTICS 0;
ALTER TABLE ~blob ALTER name SET STATISTICS 0, ALTER bytes SET STATISTICS 0;
ALTER TABLE ~change ALTER reason SET STATISTICS 0;
