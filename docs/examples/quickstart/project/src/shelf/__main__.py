import sys

from shelf.cli import main

sys.exit(main())
