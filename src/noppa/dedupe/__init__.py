"""Find texts that repeat others, exactly or nearly.

texts -> identical texts (by checksum) -> vectors of the distinct ones -> near-duplicates, in row order
"""
