"""Sandboxes as containers of an engine that speaks Docker's API."""
