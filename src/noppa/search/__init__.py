"""Search by meaning and by words: a durable index of texts with metadata.

index.py     `Index`, the public class
hits.py      cosines, BM25 and their sum over all segments; search results and their explanations
segment.py   immutable rows, and the state of an index: its segments and their live rows
storage.py   the index on disk; replacing its manifest is the commit
rows.py      ids, texts and metadata in SQLite; where.py: filters over metadata
vectors.py   stored vectors and the cells of a large segment; terms.py: postings, BM25, word-by-word overlap
"""
