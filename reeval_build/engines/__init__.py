"""Engines: what runs sandboxes."""
