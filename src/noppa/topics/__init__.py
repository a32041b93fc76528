"""What many texts are about: groups with names, keywords, outliers, and a map.

texts -> vectors -> groups -> names and representatives
"""
