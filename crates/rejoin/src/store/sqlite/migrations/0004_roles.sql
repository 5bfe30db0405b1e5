-- Whether every indexed message has its role among its words. The index of an older store has not, until it is built again.
ALTER TABLE search ADD COLUMN roles INTEGER NOT NULL DEFAULT 0;
