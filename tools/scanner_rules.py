"""Rules of the tokenizer that only C++ applies; tools/native_tables.py makes a header of them and of noppa/text/rules.py.

Plain values only.
"""

#: Replaces half of a surrogate pair.
REPLACEMENT = "\ufffd"
SURROGATES = (0xD800, 0xDFFF)
#: Hangul syllables, whose letters follow from their number.
SYLLABLES = (0xAC00, 0xD7A3)
#: Beginnings of a web address.
SCHEMES = ("http://", "https://", "ftp://", "www.")
#: The contraction that also takes the letter before the apostrophe.
NEGATION = "n't"
#: Punctuation that does not belong to the address before it.
TRAILING = ".,;:!?'\")]}>"

#: Shorter ASCII words are not counted in the share of known words: many languages share them.
MIN_COUNTED_LETTERS = 4

#: Turkish and Azeri have two letters i.
TURKISH_LOWER = {"I": "\u0131", "\u0130": "i"}
#: German writes this or two s.
SHARP_S = "\u00df"
#: Kept inside a word between letters: zero-width joiners, part of the spelling of Persian and Sinhala.
JOINERS = "\u200c\u200d"
#: Join the parts of a word, and separate them if the vocabulary lacks the word: hyphen, apostrophe, middle dot, geresh,
#: gershayim, joiners.
JOINTS = "-'\u00b7\u05f3\u05f4\u200c\u200d"
#: How many joints ahead a part may end, which bounds the time.
JOINTS_LIMIT = 8
#: Words with an apostrophe that stay whole without a vocabulary.
UNELIDED = ("aujourd'hui", "quelqu'un", "quelqu'une", "prud'homme", "prud'hommes", "prud'hommal")

#: Bits of the properties of a character in a script without spaces, from the ranges below.
BREAKS_SEGMENTED = 1
BREAKS_NOT_BEFORE = 2
BREAKS_NOT_AFTER = 4
#: Ranges of scripts without spaces, of whose characters letters and ideographs count: Thai, Lao, Myanmar, Khmer, Japanese,
#: Chinese.
SEGMENTED = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECD), (0x0EDC, 0x0EDF), (0x1000, 0x109F), (0x1780, 0x17DD), (0x3005, 0x3007),
    (0x3041, 0x309F), (0x30A1, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FE),
    (0xAA60, 0xAA7F), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
)  # fmt: skip
#: No word begins with one of these: combining signs, vowels that follow their consonant, small kana, the long sound.
NO_BREAK_BEFORE = (
    (0x0E30, 0x0E3A), (0x0E45, 0x0E45), (0x0E47, 0x0E4E), (0x0EB0, 0x0EBC), (0x0EC8, 0x0ECD), (0x102B, 0x103E),
    (0x1056, 0x1059), (0x105E, 0x1060), (0x1062, 0x1064), (0x1067, 0x106D), (0x1071, 0x1074), (0x1082, 0x108D),
    (0x108F, 0x108F), (0x109A, 0x109D), (0x17B4, 0x17D3), (0x17DD, 0x17DD), (0x3041, 0x3041), (0x3043, 0x3043),
    (0x3045, 0x3045), (0x3047, 0x3047), (0x3049, 0x3049), (0x3083, 0x3083), (0x3085, 0x3085), (0x3087, 0x3087),
    (0x3099, 0x309A), (0x30A1, 0x30A1), (0x30A3, 0x30A3), (0x30A5, 0x30A5), (0x30A7, 0x30A7), (0x30A9, 0x30A9),
    (0x30E3, 0x30E3), (0x30E5, 0x30E5), (0x30E7, 0x30E7), (0x30FC, 0x30FC), (0xA9E5, 0xA9E5), (0xAA7B, 0xAA7D),
    (0xFF67, 0xFF6E), (0xFF70, 0xFF70), (0xFF9E, 0xFF9F),
)  # fmt: skip
#: No word ends with one of these: vowels before their consonant, and signs that stack the next consonant.
NO_BREAK_AFTER = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4), (0x1039, 0x1039), (0x17D2, 0x17D2))
#: The longest word that is searched for in a run, in characters.
LONGEST_SEGMENT = 24
#: Segmentation costs, in sixteenths of a bit: of the word of rank r, log2(r + RANK_OFFSET) + WORD_COST; of an unknown
#: character UNKNOWN_COST more than a word after the last. LOG_STEPS are 2^(31 + k/16), k = 1, …, 15, rounded down.
RANK_OFFSET = 3
WORD_COST = 58
UNKNOWN_COST = 128
LOG_STEPS = (
    2242560871, 2341847523, 2445529971, 2553802833, 2666869344, 2784941737, 2908241642, 3037000499, 3171459999,
    3311872529, 3458501653, 3611622602, 3771522796, 3938502375, 4112874773,
)  # fmt: skip
