"""Writes what is generated in README.md and docs/ from bench/results and reliability/results: every number is made here.

python bench/document.py           # write the pages
python bench/document.py --check   # say which are not what the results make
"""

from __future__ import annotations

import sys

from pages import (
    classify,
    curves,
    dedupe,
    embedded,
    evaluation,
    integrations,
    languages,
    other_languages,
    paper,
    pictures,
    reliability,
    scale,
    search,
    server,
    speed,
    tables,
    wheels,
)
from pages.results import ROOT

#: What is made: whole pages, and in pages that are written by hand the named blocks
#: between `<!-- made by bench/document.py: NAME -->` and `<!-- end -->`.
WHOLE = {
    "docs/evaluation.md": evaluation.page,
    "docs/paper.md": paper.page,
    "docs/reliability.md": reliability.page,
}
BLOCKS = {
    "README.md": {"quality": tables.quality, "speed": tables.speed},
    "RELEASING.md": {"wheels": wheels.tried},
    "docs/classify.md": {"classifier": classify.measured},
    "docs/comparison.md": {
        "glance": tables.glance,
        "model2vec": classify.model2vec_published,
        "rows": classify.by_rows,
        "sklearn": integrations.sklearn,
    },
    "docs/dedupe.md": {"measured": dedupe.measured},
    "docs/default-model.md": {
        "quality": embedded.quality,
        "cost": embedded.cost,
        "tried": embedded.tried,
        "variants": embedded.variants,
    },
    "docs/files.md": {"fasttext": other_languages.fasttext, "warning": other_languages.warning},
    "docs/integrations.md": {
        "sklearn": integrations.sklearn,
        "mteb": integrations.mteb,
        "model2vec": integrations.model2vec,
        "onnx": integrations.onnx,
    },
    "docs/languages.md": {
        "known": languages.known,
        "segmentation": languages.segmentation,
        "distilled": languages.distilled,
    },
    "docs/scale.md": {"cost": scale.made},
    "docs/search.md": {"quality": search.quality, "tries": search.tries, "million": search.million},
    "docs/server.md": {"load": server.measured},
    "docs/speed.md": {
        "model2vec": speed.against_model2vec,
        "stages": speed.stages,
        "curves": curves.measured,
        "instructions": curves.instructions,
    },
}


def with_block(page: str, name: str, made: str) -> str:
    """A page with one block made anew."""
    mark = f"<!-- made by bench/document.py: {name} -->\n"
    if page.count(mark) != 1:
        raise SystemExit(
            f"a page needs the line {mark.strip()!r} once, not {page.count(mark)} times"
        )
    before, _, rest = page.partition(mark)
    return f"{before}{mark}{made}<!-- end -->{rest.partition('<!-- end -->')[2]}"


def pages() -> dict[str, str]:
    """Every page that has generated parts, by its path, as it must be."""
    made = {path: page() for path, page in WHOLE.items()}
    for path, blocks in BLOCKS.items():
        made[path] = (ROOT / path).read_text(encoding="utf-8")
        for name, block in blocks.items():
            made[path] = with_block(made[path], name, block())
    return made


def main(check: bool) -> None:
    made = pages()
    old = [path for path in made if (ROOT / path).read_text(encoding="utf-8") != made[path]]
    plots = pictures.stale(ROOT)
    if check and old + plots:
        sys.exit(
            f"not what bench/results makes: {', '.join(old + plots)}; run python bench/document.py"
        )
    for path in old:
        (ROOT / path).write_text(made[path], encoding="utf-8")
    for path in plots:
        pictures.draw(ROOT, path)


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
