"""Points of the user's own as a task."""

import numpy as np
import pytest

from passband.errors import InputError
from passband.tasks.regression import regression_task

X = np.random.default_rng(0).random((50, 2))
Y = 1000 + 50 * np.sin(6 * X[:, :1])


def test_a_vector_is_one_column():
    task = regression_task(X[:, 0], Y[:, 0])
    assert task.coords.shape == (50, 1) and task.values.shape == (50, 1)


@pytest.mark.parametrize(
    ("coords", "values", "message"),
    [
        (X, Y[:10], "must be \\(n, d\\) and \\(n, c\\) with one n"),
        (X[None], Y, "must be \\(n, d\\)"),
        (X[:0], Y[:0], "must be \\(n, d\\)"),
        (np.where(X > 0.9, np.nan, X), Y, "`coords` holds a value that is not finite"),
        (X, np.where(Y > 1040, np.inf, Y), "`values` holds a value that is not finite"),
        (X, Y + 1j, "must be real"),
    ],
)
def test_wrong_arrays_are_refused(coords, values, message):
    with pytest.raises(InputError, match=message):
        regression_task(coords, values)
