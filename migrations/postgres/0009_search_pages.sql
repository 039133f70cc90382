-- A page of the index is stored in its row: a search reads hundreds of pages, and looking each of them up in another table takes longer
-- than reading it. Two rows fill a block. Pages that exist move when their segments are merged.
ALTER TABLE index_pages ALTER COLUMN body SET STORAGE PLAIN;
