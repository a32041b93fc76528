"""Classifiers: from labelled texts to a small model that predicts and explains its predictions.

texts -> features -> logits -> probabilities
         features.py   training.py, logistic.py, lbfgs.py: fit and calibrate
                       explain.py: a logit as a sum over words and n-grams; report.py: how good the model is
"""
