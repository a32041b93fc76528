"""The data of the rules of `tokens` and `pieces`, which the build turns into a C++ header too (tools/native_tables.py).

Nothing but plain values: what is changed here is changed in both languages.
"""

#: What a character is to the tokeniser; the numbers are those of `character_data`.
KIND = {"space": 0, "drop": 1, "letter": 2, "digit": 3, "ideograph": 4, "symbol": 5}

#: Ranges of characters that are a token each.
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))

#: Typographic characters, and the ASCII ones that vocabularies have in their place.
APOSTROPHES = "\u2018\u2019\u201b\u02bc"
QUOTES = "\u201c\u201d\u201e\u201f"
HYPHENS = "\u2010\u2011"
REPLACED = {
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTES, '"'),
    **dict.fromkeys(HYPHENS, "-"),
}
#: What half of a surrogate pair becomes.
REPLACEMENT = "\ufffd"
SURROGATES = (0xD800, 0xDFFF)
#: Hangul syllables, whose letters follow from their number.
SYLLABLES = (0xAC00, 0xD7A3)

#: Words that keep the dot behind them.
ABBREVIATIONS = (
    "mr", "mrs", "ms", "dr", "prof", "gen", "col", "lt", "sgt", "capt", "sen", "rep", "gov", "st", "jr", "sr", "vs",
    "inc", "ltd", "corp", "co",
)  # fmt: skip
#: Ends of a domain name that is one without `www.` before it.
DOMAINS = (
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "io", "ai", "eu", "uk", "us", "de", "fr", "it", "es",
    "nl", "ch", "at", "se", "no", "fi", "dk", "pl", "ru", "jp", "cn", "in", "br", "au", "ca",
)  # fmt: skip
#: Beginnings of a web address.
SCHEMES = ("http://", "https://", "ftp://", "www.")
#: What splits off a word behind an apostrophe, and the contraction that takes its last letter along.
CLITICS = ("s", "m", "d", "re", "ve", "ll")
NEGATION = "n't"
#: Punctuation that does not belong to the address before it.
TRAILING = ".,;:!?'\")]}>"

#: Bounds of every look-ahead, in characters: the part of an e-mail address before the @, a domain name, an abbreviation
#: of single letters; and how many clitics split off one word.
LOCAL_LIMIT = 64
DOMAIN_LIMIT = 255
LETTERS_LIMIT = 16
CLITICS_LIMIT = 4

#: From how many letters on a word says something about the language of a text; shorter ones are words in many languages.
TELLING_LETTERS = 4

#: Before a piece that continues a word, and how many characters a word may have that is taken apart.
PIECE_MARK = "##"
LONGEST_IN_PIECES = 100
