"""`python -m passband`, from an installed or an uninstalled tree."""

import sys

from .cli.main import command

sys.exit(command())
