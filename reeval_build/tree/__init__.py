"""Merkle trees of files: values, encoding, drafts and comparison."""
