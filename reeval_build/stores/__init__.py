"""Stores: where objects and records are kept."""
