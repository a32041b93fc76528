"""Write a pooling method as one NumPy function, and use it in Python and on the command line."""

import os
from dataclasses import dataclass

import numpy as np

import noppa


@dataclass(frozen=True)
class PowerMean(noppa.Method):
    power: float = 3.0
    needs_probabilities, uses_order = True, False  # weights depend on word frequency

    def pool(self, vectors, weights):  # (tokens, dim), (tokens,) -> (dim,)
        mean = weights @ (np.sign(vectors) * np.abs(vectors) ** self.power) / weights.sum()
        return np.sign(mean) * np.abs(mean) ** (1 / self.power)


noppa.register("power", PowerMean)  # the name that saved folders store
if __name__ == "__main__":
    words = noppa.load("similarity").words
    texts = [f"{a} was {b}" for a in words.words[3000:3300] if a.isalpha() for b in ("good", "bad")]
    noppa.Encoder(words, PowerMean(), noppa.NoiseRemoval(k=2)).fit(texts).save("power")
    print(
        noppa.load("power").explain("the food was bad").shares
    )  # computed by leaving out each word
    with open("rows.csv", "w") as file:
        file.writelines(["text,label\n", *(f"{text},{'bad' in text}\n" for text in texts)])
    os.system("noppa compare rows.csv --text text --label label --method own_method:PowerMean")
    os.system("noppa encode rows.csv --column text --method own_method:PowerMean -o rows.npy")
