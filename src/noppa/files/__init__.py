"""Vector files of any kind to words and rows.

    path -> compression -> sniff -> text | binary | arrays -> rows -> Loaded

`read` recognises a file by its content, never by its name; `write` chooses by the name it is given.
"""

from __future__ import annotations

from noppa.files.options import Options
from noppa.files.read import Loaded, read
from noppa.files.report import Report
from noppa.files.rows import in_dtype
from noppa.files.write import WRITERS, write, written_files

__all__ = ["WRITERS", "Loaded", "Options", "Report", "in_dtype", "read", "write", "written_files"]
