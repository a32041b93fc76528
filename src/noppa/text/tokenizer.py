"""`Tokenizer`: how texts are split into tokens, as frozen data that a saved folder and a command line can hold.

The native scanner (src/native/text/scanner.cpp) applies the English rules in this order at each place of a text:

1. white space and control characters separate tokens;
2. web addresses, e-mail addresses and domain names stay whole, without the punctuation that follows them;
3. a Chinese, Japanese or Korean ideograph is a token of its own;
4. abbreviations keep their dots (`U.S.`, `e.g.`, `Mr.`);
5. a word is a run of letters and digits, held together by `-`, `&`, `'` and, between digits, by `. , : /`;
   contractions are split as in the Penn Treebank (`do n't`, `it 's`);
6. dots and dashes in a row become `...` and `--`, doubled quotes become `"`;
7. every other character is a token of its own.

The rules `plain` and `elision` ignore English abbreviations and contractions, keep joiners between letters, and split a word
with hyphens or apostrophes only if the vocabulary lacks it (src/native/text/joints.cpp). `whitespace` applies rule 1 alone.
Every look-ahead is bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any

from noppa._native import is_segmented
from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.parameters import one_of, short_repr
from noppa.text.rules import FOLD, FORM, RULE_SET, RUN

#: A function from a text to its tokens.
Split = Callable[[str], Sequence[str]]

#: Packages that segment runs of scripts without spaces, named like their extras.
PACKAGES = ("jieba", "fugashi", "pythainlp")

FORMS = {name.upper() if name != "none" else name: number for name, number in FORM.items()}

#: The tokenizer of each language by its ISO 639 code, in the form that `Tokenizer.parse` reads.
LANGUAGES = {
    "en": "english",
    # Languages with spaces and no rules of their own.
    **dict.fromkeys(
        "af am an ar arz as ast azb ba bcl be bg bh bn bo bpy br bs ce ceb ckb cs cv cy da diq dv el eml eo es et eu fa fi frr "
        "fy gd gl gom gu gv he hi hif hr hsb ht hu hy ia id ilo io is jv ka kk kn ko ku ky la lb li lt lv mai mg mhr min mk ml "
        "mn mr mrj ms mt mwl myv mzn nah nb ne new nl nn no nso or os pa pam pl pnb ps pt qu rm ro ru sa sah sc sco sd sh si sk "
        "sl so sq sr su sv sw ta te tg tk tl tt ug uk ur uz vi vls vo war xmf yi yo zea".split(),
        "plain",
    ),
    # Languages that write no spaces between words.
    **dict.fromkeys("zh yue wuu ja th lo km my".split(), "plain:segment=vocabulary"),
    # Languages that elide vowels before an apostrophe.
    **dict.fromkeys("fr it ca oc co wa frp lij lmo nap pms scn vec fur ga".split(), "elision"),
    # Languages with a dotted and a dotless i.
    **dict.fromkeys("tr az crh gag".split(), "plain:fold=turkish"),
    # Languages that write ß or ss.
    **dict.fromkeys("de als gsw bar nds pfl ksh".split(), "plain:fold=german"),
}


@dataclass(frozen=True)
class Tokenizer:
    """How a text is split into tokens.

    Args:
        rules: `english`; `plain` for other languages with spaces, without English contractions; `elision`, which also splits
            after an apostrophe (l' homme); `whitespace` for text that is already split.
        segment: How to split runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese: `none`; `vocabulary`, which finds the
            best words of the word vectors; or the name of a package that does it: `jieba`, `fugashi`, `pythainlp`.
        fold: `turkish` for its two letters i, `german` for ß and ss.
        form: The Unicode normal form, `NFC`, `NFKC`, or `none` for text as it is.

    >>> Tokenizer.parse("tr")
    Tokenizer(rules='plain', segment='none', fold='turkish', form='NFC')
    """

    rules: str = "english"
    segment: str = "none"
    fold: str = "none"
    form: str = "NFC"

    def __post_init__(self) -> None:
        one_of(self.rules, "rules", RULE_SET)
        one_of(self.segment, "segment", ("none", "vocabulary", *PACKAGES))
        one_of(self.fold, "fold", FOLD)
        one_of(self.form, "form", FORMS)

    @classmethod
    def parse(cls, tokenizer: Tokenizer | str) -> Tokenizer:
        """Return the tokenizer for `NAME[:key=value,…]`; the name is that of rules, a language (`fr`) or a package."""
        if isinstance(tokenizer, Tokenizer):
            return tokenizer
        if not isinstance(tokenizer, str):
            raise ParameterError(
                f"tokenizer must be a name or a function from a text to tokens, not {short_repr(tokenizer)}"
            )
        name, _, settings = tokenizer.partition(":")
        preset = f"plain:segment={name}" if name in PACKAGES else LANGUAGES.get(name, name)
        rules, _, defaults = preset.partition(":")
        if rules not in RULE_SET:
            raise ParameterError(
                f"there is no tokenizer {short_repr(tokenizer)}: give {', '.join(RULE_SET)}, {', '.join(PACKAGES)}, or the "
                "code of a language such as fr, tr or zh, and settings after it as in plain:segment=vocabulary,form=NFKC"
            )
        options = {}
        for pair in filter(None, f"{defaults},{settings}".split(",")):
            key, equals, value = pair.partition("=")
            if not equals or key not in ("segment", "fold", "form"):
                raise ParameterError(
                    f"tokenizer {short_repr(tokenizer)}: {short_repr(pair)} is no setting; give segment=…, fold=…, form=…"
                )
            options[key] = value
        return cls(rules, **options)

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Tokenizer:
        """Return the tokenizer that `to_dict` described."""
        return cls(**{"rules" if key == "name" else key: value for key, value in entry.items()})

    def to_dict(self) -> dict[str, str]:
        """Return its name and settings, as a saved folder holds them."""
        settings = asdict(self)
        return {"name": settings.pop("rules"), **settings}

    def __str__(self) -> str:
        """Return the form that `parse` reads."""
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)[1:]
            if getattr(self, field.name) != field.default
        ]
        return ":".join([self.rules, ",".join(changed)]) if changed else self.rules

    @property
    def scanner_options(self) -> tuple[int, int, int, int]:
        """Return the numbers of rules, run, fold and form that the native scanner takes."""
        run = RUN.get(self.segment, RUN["whole"])
        return RULE_SET[self.rules], run, FOLD[self.fold], FORMS[self.form]

    @property
    def uses_package(self) -> bool:
        """Return whether a package segments the runs, so that native code alone cannot look texts up."""
        return self.segment in PACKAGES

    def segment_runs(self, tokens: list[str]) -> list[str]:
        """Return tokens of the scanner with the runs of scripts without spaces split by the package."""
        if not self.uses_package:
            return tokens
        words_of = segmenter(self.segment)
        return [
            word
            for token in tokens
            for word in (words_of(token) if is_segmented(token[0]) else (token,))
        ]


#: The default tokenizer, which saved folders do not mention.
ENGLISH = Tokenizer()


@cache
def segmenter(package: str) -> Callable[[str], list[str]]:
    """Return a package's function from a run of a script without spaces to its words."""
    import logging  # lazily, like all that only some languages need
    import threading

    with needs(package, "this tokenizer"):
        module = import_module("pythainlp.tokenize" if package == "pythainlp" else package)
    if package == "jieba":
        # it logs in every process that it builds its dictionary
        module.setLogLevel(logging.WARNING)
        return lambda run: [word for word in module.cut(run) if word]
    if package == "pythainlp":
        return lambda run: [word for word in module.word_tokenize(run, engine="newmm") if word]
    per_thread = threading.local()  # a tagger holds the sentence that it parses

    def fugashi_words(run: str) -> list[str]:
        if not hasattr(per_thread, "tagger"):
            per_thread.tagger = module.Tagger("-Owakati")
        return [word.surface for word in per_thread.tagger(run)]

    return fugashi_words
