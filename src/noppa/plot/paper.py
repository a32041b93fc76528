"""What the paper prints in its figures, and the sentences that it draws."""

from __future__ import annotations

#: Figure 1: mean weights of two groups of words for the values of `a` in `views.A_VALUES`. The values are half of
#: equation 9's weight, over the 11 stop words that the authors' counts hold: they lack "." and ",".
GROUPS = {
    "stop words": "of the a in at to with by and are is . ,".split(),
    "meaningful words": (
        "film man women dogs cats name air phone special large past emotional easy need found show"
    ).split(),
}
# fmt: off
WEIGHTS = {
    "stop words": (
        0.970877, 0.912303, 0.790042, 0.567890, 0.340638, 0.151312, 0.059712, 0.019229, 0.006551, 0.001981, 0.000662,
        0.000199,
    ),
    "meaningful words": (
        0.9995, 0.9985, 0.9954, 0.9850, 0.9572, 0.8779, 0.7328, 0.5148, 0.3263, 0.1671, 0.0742, 0.0256,
    ),
}
# fmt: on

#: Figure 2: the cosine of each word with its sentence.
CONTRIBUTIONS = {
    "the girl eats a cake": (0.24, 0.47, 0.47, 0.29, 0.49),
    "the beautiful girl eats a cake": (0.28, 0.47, 0.47, 0.40, 0.32, 0.45),
    "the girl eats a delicious cake": (0.23, 0.41, 0.45, 0.29, 0.51, 0.50),
}

#: Figure 3, and the one row of it that the paper prints: what "bleeding" attends to, in percent, times its weight.
BLEEDING = "David got injured during rough hiking in the mountain, so he is bleeding right now"
BLEEDING_ROW = (
    1.21, 2.17, 4.8, 3.41, 2.51, 1.81, 1.49, 1.55, 1.21, 2.02, 2.68, 4.59, 4.51, 55.25, 6.47, 3.5,
)  # fmt: skip

#: Figures 4 and 5: the paper's text names only phrases of their sentences, from which these are put together.
CRASHED = "The car crashed into a tree and the front window was broken into pieces"
TROUBLE = "When you face trouble, think it over"
CRASHED_VALUE = ("broken", "crashed", 4.65)
TROUBLE_VALUE = ("think", "trouble", 2.62)
