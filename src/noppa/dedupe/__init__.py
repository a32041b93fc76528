"""Texts that repeat others, exactly or nearly.

texts -> same text (by checksum) -> vectors of the different ones -> near-duplicates in the order of the rows
"""
