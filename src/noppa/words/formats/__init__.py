"""Vector files of any format, read and written.

    path -> compression -> sniff -> text | arrays | fasttext -> rows -> Loaded

`read` recognizes a file by its content, never by its name; `write` chooses by the name it is given.
"""

from __future__ import annotations

from noppa.words.formats.read import Loaded, read
from noppa.words.formats.rows import Options, Report, in_dtype
from noppa.words.formats.write import WRITERS, write, written_files

__all__ = ["WRITERS", "Loaded", "Options", "Report", "in_dtype", "read", "write", "written_files"]
