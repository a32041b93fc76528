"""`Tokenizer`: how texts are split for a vocabulary, as frozen data that a saved folder and a command line can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from noppa.errors import ParameterError
from noppa.parameters import one_of, short_repr
from noppa.text.characters import is_segmented
from noppa.text.languages import LANGUAGES
from noppa.text.rules import FOLD, FORM, RULE_SET, RUN
from noppa.text.segmenters import SEGMENTERS, segmenter
from noppa.text.tokens import Splitting

FORMS = {name.upper() if name != "none" else name: number for name, number in FORM.items()}


@dataclass(frozen=True)
class Tokenizer:
    """How a text becomes tokens.

    rules: `english`; `plain` for other languages with spaces, without English contractions; `elision`, which also splits
    behind an apostrophe (l' homme); `whitespace` for text that is already split.
    segment: what becomes of runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese: `none`; `vocabulary` finds the best words
    of the word vectors; `jieba`, `fugashi` and `pythainlp` are packages that do it.
    fold: `turkish` for its two letters i, `german` for ß and ss.
    form: the normal form of Unicode, `NFC`, `NFKC`, or `none` for text as it is.

    >>> Tokenizer.of("tr")
    Tokenizer(rules='plain', segment='none', fold='turkish', form='NFC')
    """

    rules: str = "english"
    segment: str = "none"
    fold: str = "none"
    form: str = "NFC"

    def __post_init__(self) -> None:
        one_of(self.rules, "rules", RULE_SET)
        one_of(self.segment, "segment", ("none", "vocabulary", *SEGMENTERS))
        one_of(self.fold, "fold", FOLD)
        one_of(self.form, "form", FORMS)

    @classmethod
    def of(cls, given: Tokenizer | str) -> Tokenizer:
        """A tokenizer from `NAME[:key=value,…]`: the name of rules, of a language (`fr`, `zh`), or of a package (`jieba`)."""
        if isinstance(given, Tokenizer):
            return given
        if not isinstance(given, str):
            raise ParameterError(
                f"tokenizer must be the name of one or a function from a text to tokens, not {short_repr(given)}"
            )
        name, _, pairs = given.partition(":")
        known = LANGUAGES.get(name, name)
        if name in SEGMENTERS:
            known = f"plain:segment={name}"
        rules, _, own = known.partition(":")
        if rules not in RULE_SET:
            raise ParameterError(
                f"there is no tokenizer {short_repr(given)}: give {', '.join(RULE_SET)}, {', '.join(SEGMENTERS)}, or the code of a "
                "language such as fr, tr or zh, and settings behind it as in plain:segment=vocabulary,form=NFKC"
            )
        return cls(rules, **{**_settings(own, given), **_settings(pairs, given)})

    @classmethod
    def stored(cls, entry: Mapping[str, Any]) -> Tokenizer:
        """What `entry` made."""
        return cls(**{"rules" if key == "name" else key: value for key, value in entry.items()})

    def entry(self) -> dict[str, str]:
        """Its name and parameters, as a saved folder holds them."""
        rules, *rest = asdict(self).items()
        return {"name": rules[1], **dict(rest)}

    def __str__(self) -> str:
        """The form that `of` reads."""
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)[1:]
            if getattr(self, field.name) != field.default
        ]
        return ":".join([self.rules, ",".join(changed)]) if changed else self.rules

    @property
    def splitting(self) -> Splitting:
        """The numbers that the scanner takes."""
        run = RUN.get(self.segment, RUN["whole"])
        return Splitting(RULE_SET[self.rules], run, FOLD[self.fold], FORMS[self.form])

    @property
    def by_package(self) -> bool:
        """Whether a package segments the runs, so that native code alone cannot look texts up."""
        return self.segment in SEGMENTERS

    def segmented(self, tokens: list[str]) -> list[str]:
        """Tokens of the scanner, with the runs among them segmented by the package."""
        if not self.by_package:
            return tokens
        words = segmenter(self.segment)
        return [
            part
            for token in tokens
            for part in (words(token) if is_segmented(token[0]) else (token,))
        ]


def _settings(pairs: str, given: str) -> dict[str, str]:
    names = [field.name for field in fields(Tokenizer)][1:]
    settings = {}
    for pair in filter(None, pairs.split(",")):
        name, equals, value = pair.partition("=")
        if not equals or name not in names:
            raise ParameterError(
                f"tokenizer {short_repr(given)}: {short_repr(pair)} is no setting; give {', '.join(f'{key}=…' for key in names)}"
            )
        settings[name] = value
    return settings


#: The default: its tokens are those of every folder that names no other.
ENGLISH = Tokenizer()
