-- Run once, for a file that is being made: rows take any bytes where a vault puts what it encrypts. Files that were made before
-- have text there, and keep it: a vault in one writes base64.
ALTER TABLE conversation DROP COLUMN first;
ALTER TABLE conversation DROP COLUMN last;
ALTER TABLE conversation DROP COLUMN header;
ALTER TABLE conversation ADD COLUMN first ANY NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN last ANY NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN header ANY NOT NULL DEFAULT '';

-- The body stands last, so that reading the other columns never touches its overflow pages.
ALTER TABLE message DROP COLUMN label;
ALTER TABLE message DROP COLUMN body;
ALTER TABLE message ADD COLUMN label ANY;
ALTER TABLE message ADD COLUMN body ANY NOT NULL DEFAULT '';
