"""Where the material of environments comes from: git repositories and files of the host."""
