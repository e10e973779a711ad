"""Front ends: from files that people write to environments."""
