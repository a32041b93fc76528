"""Search by meaning and by words: a durable index of texts with metadata.

index.py     `Index`, the public class
query.py     cosines and BM25 over all segments, and their sum
hits.py      search results and their explanations
segment.py   immutable rows, and the state of an index: its segments and their live rows
storage.py   the index on disk; replacing its manifest is the commit
rows.py      ids, texts and metadata in SQLite; where.py: filters over metadata
vectors.py   stored vectors and the cells of a large segment; terms.py: postings, BM25, word-by-word overlap
"""
