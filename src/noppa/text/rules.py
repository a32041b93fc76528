"""Rules of the tokenizer that Python and C++ share: the build makes a header of them and of tools/scanner_rules.py.

Plain values only: a change here changes both languages.
"""

#: What a character is to the tokenizer; the numbers are those of tools/character_data.json.
KIND = {"space": 0, "drop": 1, "letter": 2, "digit": 3, "ideograph": 4, "symbol": 5}

#: Ranges of characters that are a token each.
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))

#: Typographic characters, which vocabularies spell in ASCII.
APOSTROPHES = "\u2018\u2019\u201b\u02bc"
QUOTES = "\u201c\u201d\u201e\u201f"
HYPHENS = "\u2010\u2011"
REPLACED = {
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTES, '"'),
    **dict.fromkeys(HYPHENS, "-"),
}

#: Words that keep the dot after them.
ABBREVIATIONS = (
    "mr", "mrs", "ms", "dr", "prof", "gen", "col", "lt", "sgt", "capt", "sen", "rep", "gov", "st", "jr", "sr", "vs",
    "inc", "ltd", "corp", "co",
)  # fmt: skip
#: Last labels of a domain name that needs no `www.` before it.
DOMAINS = (
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "io", "ai", "eu", "uk", "us", "de", "fr", "it", "es",
    "nl", "ch", "at", "se", "no", "fi", "dk", "pl", "ru", "jp", "cn", "in", "br", "au", "ca",
)  # fmt: skip
#: Endings split off a word after an apostrophe.
CLITICS = ("s", "m", "d", "re", "ve", "ll")

#: Bounds of every look-ahead, in characters: the part of an e-mail address before the @, a domain name, an abbreviation
#: of single letters; and how many clitics split off one word.
LOCAL_LIMIT = 64
DOMAIN_LIMIT = 255
LETTERS_LIMIT = 16
CLITICS_LIMIT = 4

#: Marks a piece that continues a word; and the longest word that is split into pieces, in characters.
PIECE_MARK = "##"
LONGEST_IN_PIECES = 100

#: How a text falls into words: the English rules, those without contractions, those that split after an apostrophe
#: (French l'homme), and white space alone.
RULE_SET = {"english": 0, "plain": 1, "elision": 2, "whitespace": 3}
#: How a run of a script without spaces is split: each ideograph is a token and letters form words; into the best words of
#: the vocabulary; or not at all, because a package segments it.
RUN = {"none": 0, "vocabulary": 1, "whole": 2}
#: Languages with a lower case or spelling of their own.
FOLD = {"none": 0, "turkish": 1, "german": 2}
#: The normal form of a text before it is split.
FORM = {"nfc": 0, "nfkc": 1, "none": 2}
