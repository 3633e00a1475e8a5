"""Tests run on the CPU, with the shapes in the signatures checked."""

import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
# Tests compile much and compute little: a quarter of their time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jaxtyping

sys.path.insert(0, str(Path(__file__).parent))
jaxtyping.install_import_hook("passband", "typechecker.check")
