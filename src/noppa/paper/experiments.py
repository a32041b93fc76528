"""The paper's experiments, in parts: what `noppa bench paper` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from noppa.methods import DCT, GEM, METHODS, S3E, SIF, USIF, VLAWE, Average, NoPPA
from noppa.methods.protocol import Method
from noppa.paper import recipes, tuning
from noppa.paper.candidates import Candidate, Recipe
from noppa.paper.study import Cell, Cost, Item, Pretrained, Search, Study, Timing, Words
from noppa.paper.tasks import CLASSIFICATION
from noppa.parameters import one_of
from noppa.refine import CommonComponents, Whitening
from noppa.words.word_vectors import WordVectors

PROTOCOL_OF_STUDIES = "fast"
#: The default a and k of the ablations: in the middle of what the paper searched.
A, K = 0.05, 12
SIMILARITY = ("STS-B", "SICK-R")
#: Frequency weights far beyond the paper's 0.01 to 0.15 on either side: cosines are best outside it.
GRID_A = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
GRID_K = (0, 1, 6, 12, 24)
#: The grids that the papers of the baselines give, as ranges of `tuning`.
BASELINES: dict[type[Any], tuple[str, ...]] = {
    SIF: ("a=0.0001|0.0003|0.001|0.003|0.01",),
    USIF: ("m=1|3|5",),
    DCT: ("k=1|2|3|4|5|6",),
    S3E: ("k=5|10|15|20",),
    GEM: ("h=1|2|5",),
    VLAWE: ("k=2|5|10",),
}
REPLAYED_SPACE = ("a=0.01:0.15", "k=1:23")
#: Trials on a task with outer folds, where one takes the network minutes.
REPLAYED_FOLD_TRIALS = 8
SPEED_RUNS = 10
#: Seeds of the search for a and k: as many as the paper has.
SEARCH_SEEDS = 5


def table_rows(study: Study, source: Words) -> list[Candidate]:
    """The rows of Table 1, baselines with their default parameters first, NoPPA and its parts last."""
    words = source.words
    rows: list[Candidate] = []
    for name, kind in METHODS.items():
        if name in ("fastsent", "sent2vec"):
            if study.corpus is not None:
                rows.append(Pretrained(words, kind(), study.corpus, kind.__name__))
        elif kind is not NoPPA and kind.__module__.startswith("noppa."):
            rows.append(Recipe(words, kind(), kind.__name__))
    full = [row for row in recipes.ablations(words, A, K) if row.name in recipes.TABLE_1]
    rich = Recipe(words, NoPPA(a=A, k=K, parts=NoPPA.RICH), "NoPPA, rich parts")
    return [*rows, *full, rich]


def table_1(study: Study, protocol: str) -> list[Item]:
    """Every method on every task, the cheapest first; what has no word vectors of ours comes with the first file."""
    conditions = study.conditions(protocol)
    similar = SIMILARITY if protocol == "fast" else ()
    tasks = study.chosen((*CLASSIFICATION, *similar))
    items: list[Item] = []
    for at, source in enumerate(study.sources):
        rows = [(row, source.files) for row in study.some(table_rows(study, source), 5)]
        if not at:
            rows += [(other, dict.fromkeys(source.files)) for other in study.others]
        cells = [Cell(task, row, conditions, files) for row, files in rows for task in tasks]
        items += sorted(cells, key=lambda cell: cell.seconds(Cost(1, 1)))
    return items


def variants(study: Study) -> list[Item]:
    """One setting of NoPPA changed at a time: noise removal, kernel, positions, attention, whitening."""
    settings: dict[str, dict[str, Any]] = {
        "NoPPA": {},
        "NoPPA, noise=reference": {"noise": "reference"},
        "NoPPA, kernel=abs": {"kernel": "abs"},
        "NoPPA, kernel=square": {"kernel": "square"},
        "NoPPA, position=reference": {"position": "reference"},
        "NoPPA, no positions": {"position": None},
        "NoPPA, attend_self=False": {"attend_self": False},
    }
    tasks = study.chosen((*CLASSIFICATION, *SIMILARITY))
    conditions = study.conditions(PROTOCOL_OF_STUDIES)
    items: list[Item] = []
    for source in study.sources:
        words = source.words
        rows = [
            Recipe(words, NoPPA(**{"a": A, "k": K} | own), name) for name, own in settings.items()
        ]
        for name, step in {
            "NoPPA, first-k removed": CommonComponents(K),
            "NoPPA, whitened": Whitening(),
        }.items():
            rows.append(Recipe(words, NoPPA(a=A, k=0), name, (step,)))
        none = Recipe(words, NoPPA(a=A, k=0), "CE+SFW")
        for recipe in [none, *study.some(rows, 2)]:
            items += [Cell(task, recipe, conditions, source.files) for task in tasks]
    return items


def grid(study: Study) -> list[Item]:
    """NoPPA for each a and k."""
    source = study.sources[0]
    tasks = study.chosen((*CLASSIFICATION, *SIMILARITY))
    conditions = study.conditions(PROTOCOL_OF_STUDIES)
    return [
        Cell(
            task,
            Recipe(source.words, NoPPA(a=a, k=k), f"NoPPA(a={a:g}, k={k})"),
            conditions,
            source.files,
        )
        for task in tasks
        for a in study.some(GRID_A)
        for k in study.some(GRID_K)
    ]


def tuned(study: Study) -> list[Item]:
    """Each baseline over the grid of its paper, the best on development rows for each fold."""
    conditions = study.conditions(PROTOCOL_OF_STUDIES)
    items: list[Item] = []
    for source in study.sources:
        for kind, space in study.some([*BASELINES.items()]):
            ranges = tuple(tuning.Range.of(text) for text in space)
            count = 1
            for part in ranges:
                count *= len(part.choices)
            plan = tuning.Plan(_maker(source.words, kind), ranges, count, exhaustive=True)
            items += [
                Search(task, plan, conditions, source.files)
                for task in study.chosen(CLASSIFICATION)
            ]
    return items


def _maker(words: WordVectors, kind: type[Any], **fixed: Any) -> tuning.Make:
    def make(values: dict[str, Any]) -> Candidate:
        numbers = {name: _number(value) for name, value in values.items()}
        return Recipe(words, kind(**fixed | numbers), kind.__name__)

    return make


def _number(value: Any) -> Any:
    """A choice of a grid, which is a text, as the number that it is."""
    if not isinstance(value, str):
        return value
    return int(value) if value.isdecimal() else float(value)


def searches(study: Study) -> list[Item]:
    """Five seeds of the search for a and k: on development rows, and as the paper's, on test rows with test text."""
    source = study.sources[0]
    ranges = tuple(map(tuning.Range.of, tuning.SPACE))
    make = _maker(source.words, NoPPA)
    tasks = study.chosen((*CLASSIFICATION, *SIMILARITY))
    count = 3 if study.quick else tuning.TRIALS
    return [
        Search(
            task,
            tuning.Plan(make, ranges, count, select_on),
            study.conditions(PROTOCOL_OF_STUDIES, transductive=select_on == "test"),
            source.files,
            seed,
        )
        for seed in study.some(range(SEARCH_SEEDS), 1)
        for task in tasks
        for select_on in tuning.SELECT_ON
    ]


def replay(study: Study) -> list[Item]:
    """The authors' run: their positions, noise removal, weights of uncounted words and classifier, fitted and chosen on
    test; beside the honest search with the same classifier, with as many trials.
    """
    source = study.sources[0]
    authors = _maker(source.as_authors, NoPPA, position="reference", noise="reference")
    honest = _maker(source.words, NoPPA)
    items: list[Item] = []
    for task in study.chosen(CLASSIFICATION):
        count = tuning.TRIALS if task.layout != "folds" else REPLAYED_FOLD_TRIALS
        count = 2 if study.quick else count
        for make, space, select_on in (
            (authors, REPLAYED_SPACE, "test"),
            (honest, tuning.SPACE, "dev"),
        ):
            plan = tuning.Plan(make, tuple(map(tuning.Range.of, space)), count, select_on)
            conditions = study.conditions("senteval", transductive=select_on == "test")
            items.append(Search(task, plan, conditions, source.files))
    return items


def speed(study: Study) -> list[Item]:
    """NoPPA with and without log2, S3E, GEM and the average, on SICK's sentences."""
    methods: Mapping[str, Method] = {
        "NoPPA": NoPPA(a=A, k=K),
        "NoPPA, kernel=square": NoPPA(a=A, k=K, kernel="square"),
        "NoPPA, kernel=abs": NoPPA(a=A, k=K, kernel="abs"),
        "S3E": S3E(),
        "GEM": GEM(),
        "Average": Average(),
    }
    runs = 2 if study.quick else SPEED_RUNS
    return [
        Timing(
            task,
            Recipe(source.words, method, name),
            study.conditions(PROTOCOL_OF_STUDIES),
            source.files,
            runs,
        )
        for source in study.sources
        for task in study.chosen(("SICK-R",))
        for name, method in methods.items()
    ]


@dataclass(frozen=True)
class Part:
    """A piece of the study that runs by itself: what it is, and its items."""

    about: str
    items: Callable[[Study], list[Item]]


PARTS: dict[str, Part] = {
    "fast": Part("Table 1 with logistic regression", lambda study: table_1(study, "fast")),
    "senteval": Part(
        "Table 1 with the paper's classifier", lambda study: table_1(study, "senteval")
    ),
    "ablations": Part("one setting of NoPPA changed at a time", variants),
    "speed": Part("the speed study", speed),
    "grid": Part("scores by a and k", grid),
    "tuned": Part("baselines over the grids of their papers", tuned),
    "search": Part("a and k chosen on development rows, and on test as in the paper", searches),
    "replay": Part("the authors' run, and an honest search with the same classifier", replay),
}
#: The tasks of the quick form: the smallest of each layout.
QUICK_TASKS = ("CR", "TREC", "SICK-E", "STS-B", "SICK-R")


def parts_of(names: Sequence[str] | None) -> list[str]:
    for name in names or ():
        one_of(name, "part", tuple(PARTS))
    return list(names or PARTS)


def quickened(study: Study) -> Study:
    """The same with few tasks, rows, trials and runs."""
    names = QUICK_TASKS if len(study.tasks) > 5 else tuple(task.name for task in study.tasks)
    return replace(study, tasks=study.chosen(names), quick=True)
