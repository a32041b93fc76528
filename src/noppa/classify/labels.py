"""Labels of any kind as columns of 0 and 1, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.memory import require_memory
from noppa.errors import InputError, ParameterError
from noppa.parameters import short_repr

Array = NDArray[np.float32]
#: How labels came, and how `predict` gives them back: one a row, a set a row, or a table of 0 and 1.
ONE, SETS, TABLE = "one", "sets", "table"
KINDS = (ONE, SETS, TABLE)
#: More classes than this share of the rows are no classes.
MOST_CLASSES_A_ROW = 0.5
#: Tables of rows and classes that training holds at once: classes, targets, logits and their slopes in five folds.
COPIES = 12


@dataclass(frozen=True, eq=False)
class Labels:
    """The classes (classes,), sorted, and the kind of the labels."""

    classes: NDArray[Any]
    kind: str = ONE

    @classmethod
    def of(cls, labels: Any) -> tuple[Labels, Array]:
        """The classes of labels, and which of them each row has, (n, classes) of 0 and 1."""
        if isinstance(labels, str):
            raise InputError("one label was given where a collection is expected: give [label]")
        table = np.asarray(labels) if getattr(labels, "ndim", 1) == 2 else None
        if table is not None:
            if not np.isin(table, (0, 1)).all():
                raise InputError("a table of labels holds 0 and 1 alone: one column a class")
            return cls(np.arange(table.shape[1]), TABLE), table.astype(np.float32)
        items = _items(labels)
        if items and all(isinstance(item, (list, tuple, set, frozenset)) for item in items):
            made = cls(_classes([one for item in items for one in item]), SETS)
        else:
            made = cls(_classes(items), ONE)
        made._check_count(len(items))
        return made, made.members(items)

    def _check_count(self, rows: int) -> None:
        """Refuse so many classes that most have one row, before a table of rows and classes is made."""
        count = len(self.classes)
        if count > max(MOST_CLASSES_A_ROW * rows, 2):
            raise ParameterError(
                f"{rows:,} rows have {count:,} different labels, fewer than two rows each: is this the column of labels?"
            )
        require_memory(
            4 * COPIES * rows * count,
            f"training {count:,} classes on {rows:,} rows",
            "merge rare classes, or train on fewer rows",
        )

    def members(self, labels: Any) -> Array:
        """Which classes each row has, (n, classes) of 0 and 1; an unknown label is an error that names it."""
        if self.kind == TABLE:
            table = np.asarray(labels)
            if table.ndim != 2 or table.shape[1] != len(self.classes):
                raise InputError(f"labels must be a table of {len(self.classes)} columns")
            return table.astype(np.float32)
        items = _items(labels)
        numbers = {one: at for at, one in enumerate(self.classes.tolist())}
        members = np.zeros((len(items), len(self.classes)), np.float32)
        for row, item in enumerate(items):
            for one in item if self.kind == SETS else (item,):
                if one not in numbers:
                    raise InputError(
                        f"label {row} is {short_repr(one)}, which the classifier was not trained on: its classes are "
                        + ", ".join(map(str, self.classes[:10].tolist()))
                    )
                members[row, numbers[one]] = 1
        return members

    @property
    def exclusive(self) -> bool:
        """Whether a row has exactly one class."""
        return self.kind == ONE

    @property
    def softmax(self) -> bool:
        """Whether the columns of the model are classes of which exactly one holds; two such classes need one column."""
        return self.exclusive and len(self.classes) > 2

    def columns(self, members: Array) -> Array:
        """The targets of the model's columns (n, columns)."""
        return members[:, 1:] if self.exclusive and len(self.classes) == 2 else members

    def by_class(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the model's columns (…, columns) for every class (…, classes): a single column counts both ways."""
        if self.exclusive and len(self.classes) == 2:
            return np.concatenate([-columns, columns], axis=-1)
        return columns

    def of_members(self, members: NDArray[np.bool_]) -> NDArray[Any]:
        """Labels as they came, for which classes each row has (n, classes)."""
        if self.kind == TABLE:
            return members.astype(np.int64)
        if self.kind == ONE:
            return np.asarray(self.classes[members.argmax(axis=1)])
        rows = np.empty(len(members), object)
        rows[:] = [tuple(self.classes[row].tolist()) for row in members]
        return rows

    def check(self, members: Array) -> None:
        """Refuse what no model can be trained on."""
        rows, counts = len(members), members.sum(axis=0)
        if rows < 2:
            raise ParameterError(f"training needs labelled rows, and there are {rows}")
        if self.exclusive and len(self.classes) < 2:
            raise ParameterError(
                f"every row has the label {short_repr(self.classes.tolist()[0])}: give rows of at least two classes"
            )
        few = np.flatnonzero(counts < 2)
        if len(few):
            name, count = short_repr(self.classes.tolist()[few[0]]), int(counts[few[0]])
            raise ParameterError(
                f"the class {name} has {count} row{'s' * (count != 1)}: give it at least two, or leave it out"
            )

    def strata(self, members: Array) -> NDArray[np.int64]:
        """A class a row for stratified folds: of several, the rarest."""
        rarity = np.where(members > 0, members.sum(axis=0), np.inf)
        return np.where(members.any(axis=1), rarity.argmin(axis=1), len(self.classes))


def _items(labels: Any) -> list[Any]:
    """Labels as Python's own values."""
    items = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    return [item.item() if isinstance(item, np.generic) else item for item in items]


def _classes(items: list[Any]) -> NDArray[Any]:
    for row, item in enumerate(items):
        if item is None or type(item).__name__ in ("NAType", "NaTType") or item != item:
            raise InputError(f"label {row} is missing: fill it, or leave that row out")
        if isinstance(item, (list, tuple, set, frozenset)):
            raise InputError(
                f"label {row} is a {type(item).__name__}, and others are not: give one kind"
            )
    kinds = {type(item) for item in items}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"labels are of several types ({names}): make them all of one")
    if not items:
        raise ParameterError("training needs labelled rows, and there are none")
    if not kinds <= {str, int, float, bool}:
        raise InputError(
            f"a label is a text, a number or a truth value, not {short_repr(items[0])}"
        )
    return np.unique(np.array(items))
