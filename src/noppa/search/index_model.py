"""The encoder of an index: how it is named on disk, how it is found again, and which words it knows."""

from __future__ import annotations

from typing import Any

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.encoder.identity import FOLDER, HUB, MEMORY, PRESET, Identity
from noppa.encoder.models import resolve_model
from noppa.errors import FileError, ParameterError
from noppa.io import schema
from noppa.parameters import short_repr
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

#: Letters of a piece, on the average of a word, above which its pieces mean something: of random strings 1 % have more, of the
#: words of English text that are not known whole 70 %.
LETTERS = 2.5
#: Header fields of an index that name its encoder.
FIELDS = {
    "encoder": schema.is_text,
    "encoder kind": schema.one_of((PRESET, FOLDER, HUB)),
    "encoder checksum": schema.is_checksum,
    "?encoder tokenizer": schema.is_text,
}
NAMES = tuple(name.lstrip("?") for name in FIELDS)


def fields_of(encoder: Any) -> dict[str, str]:
    """The header fields for an encoder; a preset goes by its name, since the package lies elsewhere on another machine."""
    identity: Identity | None = getattr(encoder, "identity", None)
    if identity is None or identity.kind == MEMORY:
        raise ParameterError(
            f"an index on disk names its encoder, and {short_repr(encoder)} is in memory alone: "
            "save it and load it again, or use noppa.Index(encoder) in memory"
        )
    other = {"encoder tokenizer": identity.tokenizer} if identity.tokenizer else {}
    return {
        "encoder": identity.name,
        "encoder kind": identity.kind,
        "encoder checksum": identity.checksum,
        **other,
    }


def encoder_of(header: dict[str, Any], folder: object, encoder: Any = None) -> Any:
    """The encoder that made an index, or the given one if it is the same."""
    name, is_preset = header["encoder"], header["encoder kind"] == PRESET
    how = header.get("encoder tokenizer", "")
    try:
        found = resolve_model(name if encoder is None else encoder, tokenizer=how or None)
    except FileError as error:
        if encoder is not None:
            raise
        raise FileError(
            f"{folder} was made with the encoder {name}, which cannot be loaded here ({error}): "
            "give the folder of the same encoder"
        ) from error
    fields = fields_of(found)
    if fields.get("encoder tokenizer", "") != how:
        raise FileError(
            f"{folder} was made with {f'the tokenizer {how}' if how else 'the tokenizer of its encoder'}: take that, or make "
            "the index again with noppa index"
        )
    if fields["encoder checksum"] != header["encoder checksum"]:
        made_with = (
            f"the preset {name} of another version of noppa"
            if is_preset and encoder is None
            else f"another encoder than {encoder if isinstance(encoder, str) else fields['encoder']}"
        )
        raise FileError(f"{folder} was made with {made_with}: make it again with noppa index")
    return found


def split_of(encoder: Any) -> Split:
    """How texts fall into terms: by the tokenizer of the encoder's words, or by the English rules."""
    return encoder.words.tokens if isinstance(encoder, Encoder) else kernels.tokenize


def words_of(encoder: Any) -> WordVectors | None:
    """The words that the vectors of an encoder are made of; None where it has none of its own."""
    return encoder.words if isinstance(encoder, Encoder) else None


def has_meaning(encoder: Any, text: str) -> bool:
    """Whether a text has a word that is known whole, or by pieces of some length: single letters mean anything."""
    if not isinstance(encoder, Encoder) or not encoder.words.pieces:
        return True
    tokens = encoder.split(text)
    return any(token in encoder.words or _in_long_pieces(encoder, token) for token in tokens)


def _in_long_pieces(encoder: Encoder, token: str) -> bool:
    ids, _ = encoder.words.lexicon.vocabulary.look_up_tokens([[token]])
    return len(ids) > 0 and len(token) / len(ids) > LETTERS
