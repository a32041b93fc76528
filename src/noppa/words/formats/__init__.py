"""Vector files of any format, read and written.

    path -> compression -> sniff -> text | binary | arrays -> rows -> Loaded

`read` recognizes a file by its content, never by its name; `write` chooses by the name it is given.
"""

from __future__ import annotations

from noppa.words.formats.load_options import Options
from noppa.words.formats.load_report import Report
from noppa.words.formats.row_buffer import in_dtype
from noppa.words.formats.vector_reader import Loaded, read
from noppa.words.formats.vector_writer import WRITERS, write, written_files

__all__ = ["WRITERS", "Loaded", "Options", "Report", "in_dtype", "read", "write", "written_files"]
