"""Numbers and names that Python and the native module share, of which the build makes a C++ header (tools/native_tables.py).

Plain values only: a change here changes both languages.
"""

#: The largest value of a word vector; the kernels rely on it.
LARGEST_VALUE = 1e15

#: The id of an unknown token that is skipped. The number of words is the id of the zero word.
DROPPED = -1

#: The most filled slots of a hash table in a row, which bounds the time of a lookup; a billion ordinary words stay below 128.
LONGEST_RUN = 512

#: How a vocabulary looks for a word.
CASE = {"exact-then-lower": 0, "exact": 1, "lower": 2}

#: Quantized word vectors: 4 bits are the number of one of these levels, 8 bits a level itself, and a value is its scale times
#: level / LEVEL_UNIT. They are the quantizer of the least squared error for a normal distribution (Lloyd, Max), rounded.
FOUR_BIT_LEVELS = (-127, -96, -75, -58, -44, -31, -18, -6, 6, 18, 31, 44, 58, 75, 96, 127)
LEVEL_UNIT = 128

#: The native kernels read positions padded with zeros to a multiple of this many floats: whole vectors of any
#: instruction set.
POSITION_UNIT = 32

#: Equation 12 and the cheaper kernels of NoPPA, of the difference of two positional vectors.
PAIR_KERNEL = {"log2": 0, "abs": 1, "square": 2}

#: log2(1 + d²) by pieces, for |d| below about LOG2_PIECES times their width: see `log2_cubics` of tools/native_tables.py.
LOG2_PIECES = 32
LOG2_PIECE_WIDTH = 0.125

#: The parts that NoPPA can concatenate; `dct1` has the number COSINES + 1, and so on up to MOST_COSINES.
PART = {"context": 0, "word": 1, "ordered": 2, "product": 3, "max": 4, "min": 5, "std": 6}
COSINES = 7
MOST_COSINES = 9999

#: The divisor of a weighted sum of words.
DIVISOR = {"tokens": 0, "weights": 1, "one": 2}

#: GEM: a vector whose part outside the others is below this share of its length is in their span.
IN_SPAN = 1e-6

#: The steps after pooling, by their names in saved folders.
STEP = {"remove": 0, "map": 1, "normalise": 2}

#: SentEval's classifier: units of its hidden layer, and the floats that a row of its weights takes in memory.
HIDDEN_UNITS = 50
HIDDEN_STRIDE = 56

#: fastText's n-grams: the start and the factor of their hash, and the bytes of a word that has any.
NGRAM_SEED = 2166136261
NGRAM_PRIME = 16777619
LONGEST_NGRAM_WORD = 65_535

#: Sent2Vec: the hash of a pair of neighbours is that of the first times this, plus the second.
PAIR_FACTOR = 116049371
#: The trainer: noise words against each true one.
MOST_NEGATIVES = 10_000
#: splitmix64, the trainer's random numbers.
SPLITMIX_STEP = 0x9E3779B97F4A7C15
SPLITMIX_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
