"""spaCy: the pipeline component `noppa`.

>>> import spacy
>>> nlp = spacy.blank("en")
>>> _ = nlp.add_pipe("noppa")
>>> nlp("a cake").vector.shape
(320,)
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

import noppa
from noppa.encoder.embedded import DEFAULT
from noppa.encoder.models import SIMILARITY, resolve_model
from noppa.errors import FileError, ParameterError
from noppa.extras import needs
from noppa.integrations import identity_of

with needs("spacy", "noppa.integrations.spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import minibatch

BATCH = 1000
#: A file with a preset's name, and a folder with an encoder.
PRESET, ENCODER = "preset", "encoder"
Doc.set_extension("noppa_vector", default=None, force=True)


class NoppaVectors:
    """Sets the vector of each Doc; those of spans and tokens are computed from their text on access.

    A serialized Doc, as with n_process, keeps its vector as `doc._.noppa_vector`; spaCy drops the hooks behind `doc.vector`,
    and calling the component on the Doc restores them.
    """

    def __init__(self, model: Any = SIMILARITY) -> None:
        self.model = model
        self._encoder: Any = None

    @property
    def encoder(self) -> Any:
        # Lazy: a path in a configuration may be of another machine, and `from_disk` replaces it.
        if self._encoder is None:
            self._encoder = resolve_model(self.model)
        return self._encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        self._encoder = resolve_model(encoder, DEFAULT)

    def __call__(self, doc: Doc) -> Doc:
        return self._with_vector(doc, self.encoder.encode(doc.text))

    def pipe(self, stream: Iterable[Doc], batch_size: int = BATCH) -> Iterator[Doc]:
        """Yield Docs with their vectors, encoded in batches."""
        for docs in minibatch(stream, batch_size):
            yield from map(self._with_vector, docs, self.encoder.encode([doc.text for doc in docs]))

    def similarity(self, one: Any, other: Any) -> float:
        """Return the cosine of two Docs, Spans or Tokens."""
        left, right = self._vector_of(one).astype(float), self._vector_of(other).astype(float)
        lengths = np.linalg.norm(left) * np.linalg.norm(right)
        return float(np.clip(left @ right / lengths, -1, 1)) if lengths else 0.0

    def _with_vector(self, doc: Doc, vector: NDArray[np.float32]) -> Doc:
        # A copy: a row would keep its whole batch in memory.
        doc._.noppa_vector, doc.vector_norm = vector.copy(), None
        for hooks in (doc.user_hooks, doc.user_span_hooks, doc.user_token_hooks):
            hooks["vector"] = self._vector_of
            hooks["has_vector"] = self._has_vector
            hooks["similarity"] = self.similarity
        return doc

    def _vector_of(self, item: Any) -> NDArray[np.float32]:
        known = item._.noppa_vector if isinstance(item, Doc) else None
        return np.asarray(self.encoder.encode(item.text) if known is None else known)

    def _has_vector(self, item: Any) -> bool:
        return bool(self._vector_of(item).any())

    # Files

    def to_disk(self, path: Any, *, exclude: Any = ()) -> None:
        """Write the name of a preset, or else the encoder itself."""
        encoder, folder = self.encoder, Path(path)
        identity = identity_of(encoder)
        if not identity.is_preset and not isinstance(encoder, noppa.Encoder):
            raise ParameterError(
                f"{encoder!r} cannot be saved with a pipeline, only an encoder of noppa can"
            )
        folder.mkdir(parents=True, exist_ok=True)
        if identity.is_preset:
            (folder / PRESET).write_text(identity.name, encoding="utf-8")
            shutil.rmtree(folder / ENCODER, ignore_errors=True)
        else:
            encoder.save(folder / ENCODER)
            (folder / PRESET).unlink(missing_ok=True)

    def from_disk(self, path: Any, *, exclude: Any = ()) -> NoppaVectors:
        """Read the folder that `to_disk` wrote."""
        preset = Path(path) / PRESET
        model = preset.read_text(encoding="utf-8") if preset.is_file() else Path(path) / ENCODER
        self._encoder = noppa.load(model)
        return self

    def to_bytes(self, *, exclude: Any = ()) -> bytes:
        """Return the files of `to_disk` as one archive."""
        packed = BytesIO()
        with tempfile.TemporaryDirectory() as name, ZipFile(packed, "w") as archive:
            self.to_disk(name)
            for file in sorted(file for file in Path(name).rglob("*") if file.is_file()):
                # Without timestamps, so that the same model gives the same bytes.
                archive.writestr(ZipInfo(file.relative_to(name).as_posix()), file.read_bytes())
        return packed.getvalue()

    def from_bytes(self, data: bytes, *, exclude: Any = ()) -> NoppaVectors:
        """Read the archive of `to_bytes`; vectors are mapped from a temporary folder while the component exists."""
        folder = tempfile.mkdtemp(prefix="noppa-spacy-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            with ZipFile(BytesIO(data)) as archive:
                archive.extractall(folder)
        except BadZipFile as error:
            raise FileError("these bytes were not made by to_bytes of a noppa component") from error
        return self.from_disk(folder)


@Language.factory("noppa", default_config={"model": SIMILARITY}, assigns=["doc.vector"])
def make(nlp: Language, name: str, model: Any) -> NoppaVectors:
    """Create the component: `nlp.add_pipe("noppa", config={"model": "default"})`."""
    return NoppaVectors(model)
