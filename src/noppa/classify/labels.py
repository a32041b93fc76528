"""Labels of any kind as columns of 0 and 1, and back; stratified folds of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import InputError, ParameterError
from noppa.parameters import short_repr

Array = NDArray[np.float32]
Rows = NDArray[np.int64]
#: How labels were given, and how `predict` returns them: one per row, a set per row, or a table of 0 and 1.
ONE, SETS, TABLE = "one", "sets", "table"
KINDS = (ONE, SETS, TABLE)
#: The largest number of classes, as a share of the rows.
MOST_CLASSES_PER_ROW = 0.5
#: Arrays (rows, classes) that training holds at once: members, targets, logits and their gradients in five folds.
COPIES = 12


@dataclass(frozen=True, eq=False)
class Labels:
    """The sorted classes (classes,), and the kind of the labels."""

    classes: NDArray[Any]
    kind: str = ONE

    @classmethod
    def parse(cls, labels: Any) -> tuple[Labels, Array]:
        """Return the classes of labels, and which of them each row has, (n, classes) of 0 and 1."""
        if isinstance(labels, str):
            raise InputError("a single label was given", "give a collection of labels")
        if getattr(labels, "ndim", 1) == 2:
            table = np.asarray(labels)
            if not np.isin(table, (0, 1)).all():
                raise InputError("a table of labels may contain only 0 and 1, one column per class")
            return cls(np.arange(table.shape[1]), TABLE), table.astype(np.float32)
        items = _as_list(labels)
        if items and all(isinstance(item, (list, tuple, set, frozenset)) for item in items):
            parsed = cls(_classes([label for item in items for label in item]), SETS)
        else:
            parsed = cls(_classes(items), ONE)
        rows, count = len(items), len(parsed.classes)
        if count > max(MOST_CLASSES_PER_ROW * rows, 2):
            raise ParameterError(
                f"{rows:,} rows have {count:,} different labels, fewer than two rows each",
                "check that these are the labels",
            )
        require_memory(
            4 * COPIES * rows * count,
            f"training {count:,} classes on {rows:,} rows",
            "merge rare classes, or train on fewer rows",
        )
        return parsed, parsed.members(items)

    def members(self, labels: Any) -> Array:
        """Return which classes each row has, (n, classes) of 0 and 1; raise if a label is unknown."""
        if self.kind == TABLE:
            table = np.asarray(labels)
            if table.ndim != 2 or table.shape[1] != len(self.classes):
                raise InputError(f"labels must be a table of {len(self.classes)} columns")
            return table.astype(np.float32)
        items = _as_list(labels)
        columns = {label: column for column, label in enumerate(self.classes.tolist())}
        members = np.zeros((len(items), len(self.classes)), np.float32)
        for row, item in enumerate(items):
            for label in item if self.kind == SETS else (item,):
                if label not in columns:
                    known = ", ".join(map(str, self.classes[:10].tolist()))
                    raise InputError(
                        f"label {row} is {short_repr(label)}, which the classifier was not trained on: "
                        f"its classes are {known}"
                    )
                members[row, columns[label]] = 1
        return members

    @property
    def exclusive(self) -> bool:
        """Whether a row has exactly one class."""
        return self.kind == ONE

    @property
    def softmax(self) -> bool:
        """Whether exactly one of the model's columns holds; two exclusive classes need only one column."""
        return self.exclusive and len(self.classes) > 2

    def targets(self, members: Array) -> Array:
        """Return the targets of the model's columns, (n, columns)."""
        return members[:, 1:] if self.exclusive and len(self.classes) == 2 else members

    @property
    def columns(self) -> int:
        """The number of the model's columns."""
        return 1 if self.exclusive and len(self.classes) == 2 else len(self.classes)

    def by_class(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return values of the model's columns (…, columns) for every class (…, classes): a single column counts both ways."""
        if self.exclusive and len(self.classes) == 2:
            return np.concatenate([-columns, columns], axis=-1)
        return columns

    def from_members(self, members: NDArray[np.bool_]) -> NDArray[Any]:
        """Return labels, as they were given, for the classes of each row (n, classes)."""
        if self.kind == TABLE:
            return members.astype(np.int64)
        if self.kind == ONE:
            return np.asarray(self.classes[members.argmax(axis=1)])
        rows = np.empty(len(members), object)
        rows[:] = [tuple(self.classes[row].tolist()) for row in members]
        return rows

    def check(self, members: Array) -> None:
        """Raise if no model can be trained on these rows."""
        rows, counts = len(members), members.sum(axis=0)
        if rows < 2:
            raise ParameterError(f"training needs labelled rows, and there are {rows}")
        if self.exclusive and len(self.classes) < 2:
            label = short_repr(self.classes.tolist()[0])
            raise ParameterError(f"every row has the label {label}", "give rows of several classes")
        few = np.flatnonzero(counts < 2)
        if len(few):
            name, count = short_repr(self.classes.tolist()[few[0]]), int(counts[few[0]])
            raise ParameterError(
                f"the class {name} has {count} row{'s' * (count != 1)}",
                "give it at least two, or leave it out",
            )

    def strata(self, members: Array) -> Rows:
        """Return one class per row for stratified folds: the rarest of its classes."""
        rarity = np.where(members > 0, members.sum(axis=0), np.inf)
        return np.where(members.any(axis=1), rarity.argmin(axis=1), len(self.classes))


def _as_list(labels: Any) -> list[Any]:
    """Return labels as values of Python's own types."""
    items = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    return [item.item() if isinstance(item, np.generic) else item for item in items]


def _classes(items: list[Any]) -> NDArray[Any]:
    for row, item in enumerate(items):
        if item is None or type(item).__name__ in ("NAType", "NaTType") or item != item:
            raise InputError(f"label {row} is missing", "fill it, or leave that row out")
        if isinstance(item, (list, tuple, set, frozenset)):
            raise InputError(
                f"label {row} is a {type(item).__name__}, and others are not", "give one kind"
            )
    if not items:
        raise ParameterError("training needs labelled rows, and there are none")
    kinds = {type(item) for item in items}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"labels are of several types ({names})", "give labels of one type")
    if not kinds <= {str, int, float, bool}:
        raise InputError(
            f"a label must be a string, a number or a bool, not {short_repr(items[0])}"
        )
    return np.unique(np.array(items))


def same_length(texts: Any, members: Any) -> None:
    """Raise if there are not as many texts as labels."""
    if len(texts) != len(members):
        raise InputError(f"there are {len(texts)} texts and {len(members)} labels")


def stratified_folds(labels: Rows, folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return (train, test) row numbers for each fold, the same as scikit-learn's `StratifiedKFold(shuffle=True)`.

    SentEval uses those. Importing scikit-learn would cost each process of a pool 1.6 s of CPU; the folds of MR take 2 ms.
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # codes in order of first appearance
    codes = order[codes]
    largest = np.bincount(codes).max()
    if largest < folds:
        raise ParameterError(
            f"{folds} folds need a class of at least {folds} rows, and the largest has {largest}"
        )
    sorted_codes = np.sort(codes)
    counts = np.array(
        [np.bincount(sorted_codes[fold::folds], minlength=len(first)) for fold in range(folds)]
    )
    random = np.random.RandomState(seed)  # scikit-learn's generator, for the same folds
    fold_of = np.empty(len(labels), np.int64)
    for code in range(len(first)):
        chosen = np.arange(folds).repeat(counts[:, code])
        random.shuffle(chosen)
        fold_of[codes == code] = chosen
    return [
        (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(folds)
    ]


def available_memory() -> int | None:
    """Return the bytes that this process can still allocate on Linux, None if that is unknown."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))  # of a container
    except (OSError, ValueError):  # no such file, or `max`
        pass
    return min(limits, default=None)


def require_memory(size: int, task: str, hint: str) -> None:
    """Raise if a task needs more bytes than are available."""
    available = available_memory()
    if available is not None and size > available:
        raise ParameterError(
            f"{task} needs about {size / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB are free",
            hint,
        )
