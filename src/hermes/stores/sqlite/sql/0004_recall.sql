-- The index holds plain words that we make ourselves (stores/words.py), so its own tokenizer only
-- splits at blanks; each row has a word for its lane and one for its chat, too. The texts are not
-- kept a second time. What was indexed before is read again.
DROP TABLE message_index;
DROP VIEW message_text;
CREATE VIRTUAL TABLE message_index USING fts5(
    words, content='', contentless_delete=1, tokenize='ascii'
);
UPDATE indexed SET upto = 0;
