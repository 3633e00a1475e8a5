"""Where samples lie, for arrays of NumPy and of JAX."""

import jax.numpy as jnp
import numpy as np
import pytest

from passband.domain import crop_axes, extent_of, grid, grid_coords, scaled_sides
from passband.errors import InputError


def test_coordinates_are_column_then_row_over_the_longest_side():
    np.testing.assert_allclose(grid((12, 8))[5, 3], [3 / 12, 5 / 12], rtol=1e-6)
    square = grid((512, 512))
    np.testing.assert_array_equal(square[7, 300], [300 / 512, 7 / 512])


def test_coordinates_of_a_volume_are_the_notebooks():
    n = 4
    axis = np.arange(n) / n
    expected = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    found = grid_coords(jnp.arange(n**3), (n,) * 3, (1.0,) * 3)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_spacing_stretches_the_short_sides():
    assert extent_of((10, 10, 5), (1.0, 1.0, 4.0)) == (0.5, 0.5, 1.0)
    last = grid_coords(jnp.asarray([499]), (10, 10, 5), (0.5, 0.5, 1.0))
    np.testing.assert_allclose(last[0], [0.45, 0.45, 0.8], atol=1e-6)


@pytest.mark.parametrize("sides", [(1000,), (12, 7), (7, 12), (5, 9, 4), (3, 4, 5, 2)])
def test_numpy_and_jax_agree(sides):
    index = np.arange(np.prod(sides))
    ours = grid_coords(index, sides)
    assert ours.dtype == np.float32 and ours.shape == (len(index), len(sides))
    theirs = grid_coords(jnp.asarray(index), sides)
    np.testing.assert_allclose(ours, theirs, rtol=2e-7)
    places = np.stack(np.unravel_index(index, sides), axis=-1)
    np.testing.assert_allclose(np.sort(ours), np.sort(places / max(sides)), rtol=1e-6)


def test_equal_spacing_needs_no_extent():
    index, sides = np.arange(60), (5, 4, 3)
    stretched = grid_coords(index, sides, extent_of(sides))
    np.testing.assert_allclose(stretched, grid_coords(index, sides), atol=1e-7)


def test_a_whole_picture_at_its_own_size_has_its_own_pixels():
    y, x = crop_axes((5, 8), (5, 8))
    own = grid((5, 8))
    np.testing.assert_array_equal(x.astype(np.float32), own[0, :, 0])
    np.testing.assert_array_equal(y.astype(np.float32), own[:, 0, 1])
    y, x = crop_axes((5, 8), (4, 2), (1, 2, 3, 6))
    np.testing.assert_allclose(8 * y, [1, 1.5, 2, 2.5])
    np.testing.assert_allclose(8 * x, [2, 4])
    with pytest.raises(InputError, match=r"`crop` \(=0,0,6,8\) must lie inside"):
        crop_axes((5, 8), (5, 8), (0, 0, 6, 8))


def test_a_resolution_is_that_of_the_longest_side():
    assert scaled_sides((30, 40), 20) == (15, 20)
    assert scaled_sides((3, 400, 7), 10) == (1, 10, 1)
    assert scaled_sides((30.4, 20.0)) == (30, 20)
