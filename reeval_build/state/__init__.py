"""What a sandbox's file system is: a base and an ordered list of deltas."""
