-- Full-text search and lookup of bare message ids, filled behind the append.

-- One row per indexed message. The document number is built from the message's time, so that the newest first is the
-- order of the numbers and needs no sort.
CREATE TABLE document (
    number    INTEGER PRIMARY KEY,      -- (microseconds << 11) + a tie-break
    key       INTEGER NOT NULL UNIQUE,
    id        TEXT    NOT NULL
) STRICT;

CREATE INDEX document_by_id ON document (id);

-- The text is fed as words that are already folded; `ascii` splits them at the spaces only.
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii', detail = 'none');

-- Deleting removes the tokens from the index instead of marking them.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

-- The version of the tokenizer that filled the index.
CREATE TABLE search (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    version   INTEGER NOT NULL
) STRICT;
