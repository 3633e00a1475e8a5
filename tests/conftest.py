"""Tests run on the CPU, with the shapes in the signatures checked."""

import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # the user's is not for tests
# Tests compile much and compute little: unoptimised, and by XLA's older emitters, which
# take half the time of the newer ones and are gone from 0.12.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    if version("jaxlib").startswith("0.10.")
    else "--xla_backend_optimization_level=0",
)
# Interpreted programs of Mosaic GPU wait for one another on XLA's threads.
os.environ.setdefault("NPROC", "16")

import jaxtyping
import pytest

sys.path.insert(0, str(Path(__file__).parent))
jaxtyping.install_import_hook("passband", "typechecker.check")

SLOW = (
    "test_the_first_hour_runs_in_60_lines",
    "test_killed_at_three_moments",
    "test_other_kinds_from_python",
    "test_scattered_points_without_a_flag_are_near_a_spline",
    "test_the_examples_of_a_model_are_true",
    "test_it_beats_the_least_squares_of_scipy[SciPy]",
    "test_it_beats_the_least_squares_of_scipy[A and A^T]",
    "test_of_a_sinogram_fewer_methods_beside_it",
    "test_of_k_space_the_lowest_frequencies",
    "test_no_gradient_of_a_whole_field_reaches_its_encoding[True]",
    "test_the_kernel_predicts_rays_beside_the_trials",
    "test_members_go_all_the_way[measured]",
    "test_members_go_all_the_way[shape]",
    "test_members_go_all_the_way[nerf]",
    "test_a_field_of_a_set_is_that_of_a_fit_alone[measured]",
    "test_a_field_of_a_set_is_that_of_a_fit_alone[mri]",
    "test_a_field_of_a_set_is_that_of_a_fit_alone[signal]",
    "test_a_field_of_a_set_is_that_of_a_fit_alone[shape]",
    "test_a_field_of_a_set_is_that_of_a_fit_alone[nerf]",
    "test_frequencies_follow_the_flow_of_the_whole_grid[sides2-options2]",
    "test_distance_from_the_closed_form_falls_as_the_root_of_the_width",
    "test_any_optax_optimiser",
    "test_a_surface_at_a_distance_has_the_radius_in_the_meshs_units",
)
"""Tests of 10 to 100 s each, which `make test-all` runs beside the others: two cores
have 15 minutes."""


@pytest.fixture(autouse=True, scope="module")
def programs_of_one_file():
    """A worker compiles thousands of programs, and Linux ends it at the last map of its
    memory (`train.memory_maps`)."""
    yield
    from passband.train import memory_maps, programs

    if memory_maps.few_left():
        programs.forget()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("PASSBAND_TESTS") == "all":
        return
    for item in items:
        if item.name in SLOW:
            item.add_marker(pytest.mark.skip(reason="slow: `make test-all` runs it"))
