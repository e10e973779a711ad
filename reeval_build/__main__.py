"""`python -m reeval_build`: the command."""

from __future__ import annotations

from reeval_build.cli import main

if __name__ == "__main__":
    main()
