"""A folder that `model2vec.StaticModel.from_pretrained` opens, written without that package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from noppa import Encoder, WordVectors
from noppa.errors import FileError, ParameterError
from noppa.export.means import is_unit, mean_words
from noppa.export.tokenizer import cased, tokenizer_json
from noppa.io.atomic import atomic_folder
from noppa.text.characters import lower
from noppa.text.tokenizer import ENGLISH
from noppa.words.formats.safetensors import write_tensors

FILES = ("model.safetensors", "tokenizer.json", "config.json")
MODULES = "sentence_transformers.models."


def write_model2vec(encoder: Encoder, path: Path) -> None:
    """One vector a word, with weights and steps applied, and our tokenizer as a `tokenizer.json`."""
    if encoder.tokenizer is not None:
        raise ParameterError(
            "model2vec needs the tokenizer as a file, and this encoder has a function for one: make it without tokenizer="
        )
    if encoder.words.tokenizer != ENGLISH:
        raise ParameterError(
            f"model2vec can express the English rules alone, and these words have the tokenizer {encoder.words.tokenizer}: "
            "export to another format, or load them with tokenizer='english'"
        )
    if encoder.words.unknown in ("zero", "unk"):
        raise ParameterError(
            f"model2vec leaves unknown words out, and unknown={encoder.words.unknown!r} counts them: "
            "load the words with unknown='skip' or 'pieces'"
        )
    if path.exists() and not all((path / name).is_file() for name in FILES):
        raise FileError(
            f"{path} exists and is no model2vec folder: choose another name or remove it first"
        )
    words = mean_words(encoder, "model2vec")
    tokens = tokens_of(words)
    unknown = next(name for name in ("[UNK]", "[noppa unknown]", "[UNK]" * 9) if name not in tokens)
    rows = words.vectors(np.arange(len(words)))
    tensors = {"embeddings": np.concatenate([rows, np.zeros((1, words.dim), np.float32)])}
    places = np.array([*tokens.values(), len(rows)], np.int64)
    if not np.array_equal(places, np.arange(len(rows) + 1)):
        tensors["mapping"] = places
    numbered = {token: number for number, token in enumerate([*tokens, unknown])}
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "normalize": is_unit(encoder),
        "max_length": None,
        "hidden_dim": words.dim,
        "embedding_dtype": "float32",
    }
    modules = [("StaticEmbedding", "."), *[("Normalize", "1_Normalize")] * is_unit(encoder)]
    described = [
        {"idx": at, "name": str(at), "path": place, "type": MODULES + kind}
        for at, (kind, place) in enumerate(modules)
    ]
    with atomic_folder(path) as new:
        write_tensors(new / "model.safetensors", tensors)
        for name, content in {
            "tokenizer.json": tokenizer_json(words, numbered, unknown),
            "config.json": config,
            "modules.json": described,
        }.items():
            (new / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def tokens_of(words: WordVectors) -> dict[str, int]:
    """The row of each token: words as spelled, and capitalized and upper-case forms where lookup falls back to lower case."""
    count = words.lexicon.whole_words
    whole: dict[str, int] = {}
    for row, word in enumerate(words.words[:count]):
        if not (words.unknown == "pieces" and word.startswith("##")):  # no text has such a token
            whole.setdefault(word, row)
    if words.case == "exact-then-lower" and cased(whole):
        for word, row in list(whole.items()):
            for other in (word[:1].upper() + word[1:], word.upper()):
                if lower(other) == word:
                    whole.setdefault(other, row)
    if words.unknown == "pieces":
        for row, piece in enumerate(words.words[count:], count):
            whole.setdefault(piece, row)
    return whole
