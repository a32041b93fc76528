"""From labelled texts to a small model that predicts, and says which words decided.

texts -> features (the encoder's vector; n-grams) -> logits -> probabilities
         ngrams, features        choosing, linear_fit, lbfgs   calibration
                                 decision: a logit as a sum over words and n-grams
"""
