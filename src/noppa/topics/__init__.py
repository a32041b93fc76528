"""What a collection of texts is about: topics with names, keywords, outliers, and a map.

texts -> vectors -> groups -> names and representatives
"""
