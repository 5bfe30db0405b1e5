-- The tables of CPE with the columns of all of its versions, so that each of them opens the file.
CREATE TABLE messages (
    id                   TEXT PRIMARY KEY,
    parent_id            TEXT,
    compaction_parent_id TEXT,
    title                TEXT,
    is_subagent          BOOLEAN NOT NULL DEFAULT 0,
    role                 TEXT NOT NULL,
    tool_result_error    BOOLEAN NOT NULL DEFAULT 0,
    message_extra_fields TEXT,
    model_ref            TEXT,
    model_id             TEXT,
    model_type           TEXT,
    model_display_name   TEXT,
    input_tokens         INTEGER,
    output_tokens        INTEGER,
    cache_read_tokens    INTEGER,
    cache_write_tokens   INTEGER,
    created_at           TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (parent_id) REFERENCES messages (id) ON DELETE RESTRICT
);
CREATE INDEX idx_messages_created_at ON messages (created_at);
CREATE INDEX idx_messages_parent_id ON messages (parent_id);
CREATE INDEX idx_messages_compaction_parent_id ON messages (compaction_parent_id);
CREATE TABLE blocks (
    id             TEXT,
    message_id     TEXT NOT NULL,
    block_type     TEXT NOT NULL,
    modality_type  INTEGER NOT NULL,
    mime_type      TEXT NOT NULL,
    content        TEXT NOT NULL,
    extra_fields   TEXT,
    sequence_order INTEGER NOT NULL,
    created_at     TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (message_id, sequence_order),
    FOREIGN KEY (message_id) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE TABLE acp_sessions (
    id              TEXT PRIMARY KEY,
    last_message_id TEXT,
    cwd             TEXT NOT NULL,
    title           TEXT NOT NULL,
    model_ref       TEXT NOT NULL,
    thinking_level  TEXT NOT NULL DEFAULT '',
    cost_usd        REAL NOT NULL DEFAULT 0,
    created_at      TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (last_message_id) REFERENCES messages (id) ON DELETE CASCADE
);
