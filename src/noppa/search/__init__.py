"""Search by meaning and by words: a durable index of texts with metadata, its queries and its results.

segment.py       immutable rows: vectors, texts, ids, metadata (row_table.py, where.py) and the words' postings (postings.py)
index_state.py   the segments of a commit, and which of their rows are alive
segment_log.py   both on disk, and the manifest whose replacement is the commit
query.py         cosines (cells.py: of some rows only) and BM25 over all segments, and their sum
hits.py          what a search gives, and why
index.py         `Index`: the public face
"""
