"""The environment model: what an author writes, as frozen values."""
