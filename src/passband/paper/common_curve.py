"""Whether several families of dots lie on one curve, and how far they scatter."""

import dataclasses

import numpy as np

from ..field import Field
from ..mappings import FourierFeatures

KNOTS = (0.2, 0.4, 0.6, 0.8)
FREE = 4 + len(KNOTS)


@dataclasses.dataclass(frozen=True, eq=False)
class CommonCurve:
    r"""Least-squares cubic splines through log10(error) against log2(width).

    One spline is fitted to the dots of all families and one to each family's, all with
    inner knots at the fifths of all the widths. With $S^2$ the squared residuals over
    dots less coefficients, the families lie on one curve where what they differ by,
    $\sqrt{S_{one}^2 - S_{each}^2}$, is no more than what the networks of one family
    scatter by, $S_{each}$.
    """

    knots: np.ndarray
    coefficients: np.ndarray
    span: tuple[float, float]
    """The smallest and the largest width, as log2."""
    within: float | None
    """Scatter about a curve for each family, in decades; None if dots are too few."""
    between: float | None
    """What the families' curves differ by, in decades."""
    explained: float
    """The share of the variance of log10(error) that the one curve takes away."""

    @property
    def one(self) -> bool | None:
        """Whether the families lie on one curve; None if dots are too few to tell."""
        if self.within is None or self.between is None:
            return None
        return self.between <= self.within

    def detail(self) -> str:
        """What the families differ by and what their networks scatter by."""
        if self.within is None:
            return "too few networks to tell"
        return f"{self.between:.3f} and {self.within:.3f}"

    def points(self, count: int = 200) -> np.ndarray:
        """Widths and errors along the curve of all families, (2, count)."""
        x = np.linspace(*self.span, count)
        return np.stack([2**x, 10 ** (_basis(x, self.knots) @ self.coefficients)])

    def lowest(self) -> tuple[float, float]:
        """The width at which the curve is lowest, and its error there."""
        widths, errors = self.points(2000)
        k = int(np.argmin(errors))
        return float(widths[k]), float(errors[k])

    def ends(self) -> tuple[float, float]:
        """The curve at the narrowest and at the widest, over its lowest."""
        _, errors = self.points(2000)
        return float(errors[0] / errors.min()), float(errors[-1] / errors.min())


def fit_curve(widths: np.ndarray, errors: np.ndarray) -> CommonCurve:
    """The common curve of (families, ...) dots."""
    x = np.log2(np.asarray(widths, float)).reshape(len(widths), -1)
    y = np.log10(np.asarray(errors, float)).reshape(len(errors), -1)
    knots = np.quantile(x, KNOTS)
    coefficients, together = _least_squares(x.ravel(), y.ravel(), knots)
    apart = sum(_least_squares(a, b, knots)[1] for a, b in zip(x, y, strict=True))
    spare = y.size - len(y) * FREE
    within = between = None
    if spare >= y.size / 3:
        variance = apart / spare
        more = together / (y.size - FREE) - variance
        within, between = float(np.sqrt(variance)), float(np.sqrt(max(more, 0.0)))
    return CommonCurve(
        knots,
        coefficients,
        (float(x.min()), float(x.max())),
        within,
        between,
        float(1 - together / np.sum((y - y.mean()) ** 2)),
    )


def rms_frequency(field: Field) -> float:
    """The width of a dot: the root mean square of its network's frequencies."""
    assert isinstance(field.encoding, FourierFeatures)
    b = np.asarray(field.encoding.frequencies, np.float64)
    return float(np.sqrt(np.mean(b**2)))


def _basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Truncated powers: 1, x, x^2, x^3 and (x - k)^3 beyond each knot k."""
    steps = [np.clip(x - k, 0, None) ** 3 for k in knots]
    return np.stack([x**0, x, x**2, x**3, *steps], axis=1)


def _least_squares(
    x: np.ndarray, y: np.ndarray, knots: np.ndarray
) -> tuple[np.ndarray, float]:
    """Coefficients, and the sum of what they leave, squared."""
    basis = _basis(x, knots)
    coefficients, *_ = np.linalg.lstsq(basis, y, rcond=None)
    return coefficients, float(np.sum((y - basis @ coefficients) ** 2))
