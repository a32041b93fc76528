"""`noppa.load`: the embedded model, a preset of it, or a saved encoder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from noppa.encoder import embedded
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.io import hub, storage
from noppa.parameters import short_repr
from noppa.text.tokenizer_settings import Tokenizer
from noppa.text.tokens import Split


def load(
    name_or_path: str | PathLike[str] | None = None,
    tokenizer: Split | Tokenizer | str | None = None,
    verify: bool = False,
    refresh: bool = False,
) -> Encoder:
    """The embedded model, a preset of it by name, or a saved encoder from its folder or from the Hugging Face Hub.

    A preset goes before a folder of the same name; `./NAME` is the folder. `hf:owner/name@revision` is a repository, downloaded
    once with its checksums compared; `identity.name` says which commit it is (`pip install 'noppa[hub]'`).

    name_or_path: `"default"`, `"similarity"`, `"small"`, a folder that `save` wrote, or `hf:owner/name`; the default preset where None.
    tokenizer: how texts are split, by its name (`fr`, `zh`, `whitespace`) in place of what was saved; or the function that an
    encoder with one of its own was saved with.
    verify: compare the checksums of large files, too, which reads them whole.
    refresh: ask the hub again which commit a branch or a tag is, which is remembered otherwise.
    """
    names = embedded.presets()
    if name_or_path is None:
        if not names:
            raise NoppaError(
                "this version has no embedded model yet: give the folder of a saved encoder"
            )
        name_or_path = embedded.DEFAULT
    if not isinstance(name_or_path, (str, PathLike)):
        raise ParameterError(
            f"a model is the name of a preset, the path of a folder or hf:owner/name, not {short_repr(name_or_path)}"
        )
    if isinstance(name_or_path, str) and name_or_path in names:
        verified = storage.EVERY_BYTE if verify else storage.INSTALLED
        return Encoder.open_folder(embedded.FOLDER / name_or_path, tokenizer, verified)
    name_or_path = hub.located(name_or_path, refresh)
    if names and not storage.existing(Path(name_or_path)).exists():
        raise FileError(
            f"{name_or_path} does not exist: give the folder of a saved encoder, or one of the presets "
            + ", ".join(names)
        )
    return Encoder.load(name_or_path, tokenizer, verify)
