"""What a server serves: encoders, and beside them a classifier and an index where their folders were named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import noppa
from noppa.classify.storage import KIND as CLASSIFIER
from noppa.io import storage
from noppa.io.hub import locate
from noppa.serve.served_classifier import ServedClassifier
from noppa.serve.served_index import ServedIndex
from noppa.serve.served_models import Models, name_of, preset_encoders
from noppa.serve.settings import Settings


@dataclass(frozen=True)
class Served:
    """Everything that requests can ask for."""

    models: Models
    classifier: ServedClassifier | None = None
    index: ServedIndex | None = None

    @classmethod
    def load(cls, settings: Settings) -> Served:
        """What the settings name. Beside a classifier stand the presets, and its own encoder unless that is one of them."""
        threads = max(1, settings.encoding_threads // settings.running)
        index = None if settings.index is None else _index(settings.index, threads)
        folder = locate(settings.model)
        if folder is None or storage.kind_of(Path(folder)) != CLASSIFIER:
            return cls(Models.load(settings), index=index)
        name = settings.name or name_of(settings.model or "")
        classifier = noppa.load_classifier(folder).set_params(threads=threads)
        encoders, own = preset_encoders("noppa"), classifier.encoder_
        if own is not None and not own.identity.is_preset:
            encoders[name] = own
        return cls(Models(encoders, settings), ServedClassifier(name, classifier), index)


def _index(folder: str, threads: int) -> ServedIndex:
    opened = noppa.Index.open(folder, create=False, threads=threads)
    return ServedIndex(Path(folder).absolute().name, opened)
