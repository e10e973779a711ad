"""The fake sandbox: a directory on the host, for machines without a container engine."""
