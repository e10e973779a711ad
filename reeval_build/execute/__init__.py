"""Use cases: resolve sources, execute a graph, run a command in a sandbox."""
