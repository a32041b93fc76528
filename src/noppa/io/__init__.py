"""Disk: saved folders, atomic writes, compressed files."""
