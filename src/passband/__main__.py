"""`python -m passband`, from an installed or an uninstalled tree."""

import sys

from .cli.main import main

sys.exit(main())
