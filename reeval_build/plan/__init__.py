"""The graph of a build: pure values, worked out from cells and what their sources resolved to."""
