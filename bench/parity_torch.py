"""Compare SentEval's classifier in torch with ours in NumPy, on the same vectors, folds and rows.

    python bench/parity_torch.py ../shared/data [--tasks SICK-E,MRPC,TREC] [-o bench/results/parity.jsonl]

Needs torch. Both start from the same weights and draw the same batches, so their scores differ by rounding only. Prints a table in
Markdown; -o appends one JSON line per task.
"""

from __future__ import annotations

import argparse
import copy
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch

import noppa
from noppa.classify.labels import stratified_folds
from noppa.classify.probe import ProbeData, ProbeResult
from noppa.paper import TASKS, Recipe, check, read, records, score
from noppa.paper.protocols import HELD_OUT, INNER_FOLDS, L2


class Classifier:
    """SentEval's network: Adam, batches of 64, tenacity 5, epoch size 4."""

    def __init__(self, dim: int, classes: int, l2: float, seed: int) -> None:
        self.random = np.random.RandomState(seed)
        layers = (torch.nn.Linear(dim, 50), torch.nn.Sigmoid(), torch.nn.Linear(50, classes))
        self.model = torch.nn.Sequential(*layers)
        start = np.random.default_rng(seed)
        with torch.no_grad():
            for layer in (layers[0], layers[2]):
                bound = layer.in_features**-0.5
                weights = start.uniform(-bound, bound, (layer.in_features, layer.out_features))
                layer.weight.copy_(torch.from_numpy(weights.T))
                layer.bias.copy_(torch.from_numpy(start.uniform(-bound, bound, layer.out_features)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), weight_decay=l2)
        self.loss = torch.nn.CrossEntropyLoss()

    def fit(self, train: tuple, dev: tuple | None = None) -> float:
        """Train until the sixth check without a gain, keep the best weights, and return their accuracy."""
        rows, labels = map(torch.from_numpy, train)
        if dev is None:
            order = self.random.permutation(len(rows))
            held_out = int(HELD_OUT * len(rows))
            dev = (train[0][order[:held_out]], train[1][order[:held_out]])
            rows, labels = rows[order[held_out:]], labels[order[held_out:]]
        best, worse, epoch = -1.0, 0, 0
        checkpoint = copy.deepcopy(self.model)
        while epoch <= 200:
            for _ in range(4):
                order = torch.from_numpy(self.random.permutation(len(rows)))
                for start in range(0, len(rows), 64):
                    batch = order[start : start + 64]
                    self.optimizer.zero_grad()
                    self.loss(self.model(rows[batch]), labels[batch]).backward()
                    self.optimizer.step()
            epoch += 4
            accuracy = float((self.predict(dev[0]) == dev[1]).mean())
            if accuracy > best:
                best, checkpoint = accuracy, copy.deepcopy(self.model)
            else:
                if worse >= 5:
                    break
                worse += 1
        self.model = checkpoint
        return best

    def predict(self, rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.model(torch.from_numpy(rows)).argmax(1).numpy()


def in_torch(data: ProbeData) -> ProbeResult:
    """Select l2 and train the final network as our implementation does."""
    rows, labels = data.train
    made = lambda l2: Classifier(rows.shape[1], data.classes, l2, data.seed)  # noqa: E731
    if data.dev is not None:
        tried = [(made(l2), l2) for l2 in L2]
        accuracy = [network.fit(data.train, data.dev) for network, _ in tried]
        best = int(np.argmax(accuracy))
        return ProbeResult(tried[best][1], accuracy[best], tried[best][0].predict(data.test[0]))
    folds = stratified_folds(labels, INNER_FOLDS, data.seed)
    accuracy = [
        np.mean([made(l2).fit((rows[i], labels[i]), (rows[o], labels[o])) for i, o in folds])
        for l2 in L2
    ]
    best = int(np.round(accuracy, 4).argmax())
    final = made(L2[best])
    final.fit(data.train)
    return ProbeResult(L2[best], accuracy[best], final.predict(data.test[0]))


def torch_map(_: object, splits: Iterable[ProbeData]) -> Iterator[ProbeResult]:
    return map(in_torch, splits)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("--tasks", default="SICK-E,MRPC,TREC")
    options.add_argument("--seeds", type=int, default=1, help="seeds to take the mean over")
    options.add_argument("-o", "--output", type=Path)
    arguments = options.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    torch.set_num_threads(1)
    words = noppa.WordVectors.load(arguments.data / "vectors/glove.6B.100d.npy")
    words = words.with_counts(arguments.data / "frequency/enwiki_vocab_min200.txt")
    recipe = Recipe(words, noppa.NoPPA(), "NoPPA")
    seeds = range(1111, 1111 + arguments.seeds)
    print(
        "| task | seeds | NumPy dev | torch dev | NumPy test | torch test | difference |\n|---|"
        + "---:|" * 6
    )
    for name in arguments.tasks.split(","):
        check(arguments.data / "senteval", TASKS[name])
        parts = read(arguments.data / "senteval", TASKS[name])
        ours = [score(TASKS[name], parts, recipe, "senteval", seed=seed) for seed in seeds]
        theirs = [
            score(TASKS[name], parts, recipe, "senteval", seed=seed, run=torch_map)
            for seed in seeds
        ]
        means = [float(np.mean([o.dev for o in some])) for some in (ours, theirs)]
        means += [float(np.mean([o.score for o in some])) for some in (ours, theirs)]
        cells = " | ".join(f"{mean:.2f}" for mean in means)
        print(f"| {name} | {arguments.seeds} | {cells} | {means[2] - means[3]:+.2f} |", flush=True)
        if arguments.output:
            keys = ("numpy_dev", "torch_dev", "numpy_test", "torch_test")
            about = records.surroundings() | {"seeds": list(seeds), "torch": torch.__version__}
            row = {"task": name, **{k: round(v, 4) for k, v in zip(keys, means, strict=True)}}
            with arguments.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row | about) + "\n")


if __name__ == "__main__":
    main()
