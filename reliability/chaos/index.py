"""What happens to an index that is being saved when something goes wrong: see `_folders`."""

from __future__ import annotations

from reliability.chaos._folders import scenarios

globals().update(scenarios("index"))
