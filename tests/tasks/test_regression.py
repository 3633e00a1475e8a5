"""Points of the user's own, and `pb.fit` on them."""

import doctest

import numpy as np
import pytest

import passband as pb
import passband.api
from passband.errors import InputError
from passband.tasks.regression import regression_task

X = np.random.default_rng(0).random((50, 2))
Y = 1000 + 50 * np.sin(6 * X[:, :1])


def test_fit_returns_the_users_units():
    field, history = pb.fit(X, Y, mapping="gaussian:1,m=32", steps=400, width=32)
    assert np.abs(field.predict(X) - Y).max() < 10
    assert history["step"][-1] == 400


def test_one_key_gives_one_result():
    options = {"mapping": "gaussian:1,m=8", "steps": 5, "width": 8, "batch": 8}
    one, two = (pb.fit(X, Y, key=3, **options)[0] for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    other, _ = pb.fit(X, Y, key=4, **options)
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_a_vector_is_one_column():
    task = regression_task(X[:, 0], Y[:, 0])
    assert task.coords.shape == (50, 1) and task.values.shape == (50, 1)


def test_a_population_from_python():
    fields = [
        pb.make_field(f"gaussian:{s},m=8", d=2, out=1, key=pb_key(s), width=8)
        for s in (1, 2)
    ]
    trained, histories = pb.fit_population(
        fields, [regression_task(X, Y)] * 2, steps=25, rates=[1e-2, 1e-3]
    )
    assert len(trained) == len(histories) == 2


def pb_key(seed):
    import jax

    return jax.random.key(seed)


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
        pb.fit(coords, values, steps=1)


def test_constant_values_are_fitted():
    field, _ = pb.fit(X, np.full((50, 1), 7.0), mapping="none", steps=200, width=8)
    assert np.abs(field.predict(X) - 7).max() < 0.2


def test_the_docstring_is_true():
    assert doctest.testmod(passband.api).failed == 0
