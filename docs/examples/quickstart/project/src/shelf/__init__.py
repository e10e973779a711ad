"""Finds books in a catalogue."""

__version__ = "1.0.0"
