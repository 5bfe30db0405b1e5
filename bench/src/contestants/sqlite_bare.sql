-- The tables of the bare store: bodies, what a list shows, branches and a full-text index.
CREATE TABLE conversation (
    number INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    active INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL
);
CREATE INDEX conversation_by_active ON conversation (active);

-- The key is the conversation's number above 32 bits of sequence: a load is one range of the table.
CREATE TABLE message (key INTEGER PRIMARY KEY, body TEXT NOT NULL);

CREATE TABLE branch (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (number),
    head INTEGER NOT NULL,
    title TEXT NOT NULL
);

CREATE VIRTUAL TABLE word USING fts5(text, content = '', tokenize = 'unicode61');
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);

CREATE TABLE indexed (value INTEGER NOT NULL);
INSERT INTO indexed VALUES (0);

PRAGMA user_version = 1;
