"""`python -m maskctl ...` is the command `maskctl`, with what the Python package adds to it."""

import sys

from maskctl._command import main

sys.exit(main())
