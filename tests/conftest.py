"""Tests run on the CPU, with the shapes in the signatures checked."""

import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jaxtyping

sys.path.insert(0, str(Path(__file__).parent))
jaxtyping.install_import_hook("passband", "typechecker.check")
