"""How far a prediction is from the truth: PSNR, SSIM and IoU, in float64 NumPy."""

import math

import numpy as np
from numpy.typing import ArrayLike

from passband.errors import InputError


def psnr(prediction: ArrayLike, target: ArrayLike, *, data_range: float) -> float:
    """Peak signal-to-noise ratio in dB, infinite where the two are equal.

    psnr = 20 log10(data_range) - 10 log10(mean((prediction - target)^2))

    Args:
        prediction: an array of any shape.
        target: the truth, of the same shape.
        data_range: the distance from black to white, in the units of both.

    Example:
        >>> import passband as pb
        >>> round(pb.metrics.psnr([0.0, 0.1], [0.0, 0.0], data_range=1.0), 2)
        23.01
    """
    prediction, target = _pair(prediction, target)
    _check_range(data_range)
    with np.errstate(all="ignore"):  # a run that blew up scores NaN or -inf, quietly
        mse = float(np.mean(np.square(prediction - target)))
    if mse == 0:
        return math.inf
    return 20 * math.log10(data_range) - 10 * math.log10(mse)


def ssim(
    prediction: ArrayLike,
    target: ArrayLike,
    *,
    data_range: float,
    channel_axis: int | None = -1,
) -> float:
    """Mean structural similarity (Wang et al. 2004), scikit-image's uniform window.

    The window is 7 wide, or the largest odd width that fits; where only 1 fits, the
    luminance term alone is left.

    Args:
        prediction: (rows, cols) or (rows, cols, c), the score the mean over channels.
        target: the truth, of the same shape.
        data_range: the distance from black to white, in the units of both.
        channel_axis: where channels are; None takes a volume as one channel.

    Example:
        >>> import numpy as np, passband as pb
        >>> picture = np.eye(16)
        >>> pb.metrics.ssim(picture, picture, data_range=1.0)
        1.0
    """
    from skimage.metrics import structural_similarity

    prediction, target = _pair(prediction, target)
    _check_range(data_range)
    if target.ndim == 2:
        channel_axis = None
    if target.ndim < 2 or (channel_axis is not None and target.ndim != 3):
        raise InputError(
            f"`target` has shape {target.shape}; SSIM takes (rows, cols) or "
            "(rows, cols, channels), or a volume with `channel_axis=None`"
        )
    sides = list(target.shape)
    if channel_axis is not None:
        del sides[channel_axis]
    window = min(7, *sides)
    window -= 1 - window % 2
    score = structural_similarity(
        target,
        prediction,
        data_range=float(data_range),
        win_size=window,
        channel_axis=channel_axis,
        # The sample covariance divides by window^d - 1.
        use_sample_covariance=window > 1,
    )
    return float(np.asarray(score))  # its stub allows a tuple too


def iou(prediction: ArrayLike, target: ArrayLike) -> float:
    """Intersection over union of two boolean arrays, 1 where both are empty.

    Args:
        prediction: booleans of any shape.
        target: the truth, of the same shape.

    Example:
        >>> import passband as pb
        >>> pb.metrics.iou([True, True, False], [True, False, False])
        0.5
    """
    inside, truth = np.asarray(prediction), np.asarray(target)
    for name, array in (("prediction", inside), ("target", truth)):
        if array.dtype != np.bool_:
            raise InputError(
                f"`{name}` holds {array.dtype}; IoU compares booleans, "
                "so threshold it first"
            )
    _check_shapes(inside, truth)
    union = np.count_nonzero(inside | truth)
    return float(np.count_nonzero(inside & truth) / union) if union else 1.0


def _pair(prediction: ArrayLike, target: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 arrays of one shape."""
    arrays = []
    for name, given in (("prediction", prediction), ("target", target)):
        array = np.asarray(given)
        try:
            # Not a check of the dtype's kind: bfloat16 is of no kind NumPy knows.
            arrays.append(array.astype(np.float64, casting="same_kind"))
        except (TypeError, ValueError):
            raise InputError(
                f"`{name}` holds {array.dtype}; this metric takes real numbers"
            ) from None
    _check_shapes(*arrays)
    return arrays[0], arrays[1]


def _check_shapes(prediction: np.ndarray, target: np.ndarray) -> None:
    if prediction.shape != target.shape:
        raise InputError(
            f"`prediction` has shape {prediction.shape} and `target` {target.shape}; "
            "a metric never broadcasts, so make them equal"
        )
    if target.size == 0:
        raise InputError("`target` is empty; a metric needs at least one value")


def _check_range(data_range: float) -> None:
    if not (math.isfinite(data_range) and data_range > 0):
        raise InputError(
            f"`data_range` (={data_range}) must be positive and finite: "
            "the largest possible value minus the smallest, 1 for [0, 1]"
        )
