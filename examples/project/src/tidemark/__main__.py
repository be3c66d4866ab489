"""Lets `python -m tidemark` run the command."""

import sys

from tidemark.cli import main

sys.exit(main())
