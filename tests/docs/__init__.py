"""Documentation that is checked: blocks run as written, references say what the program does."""
