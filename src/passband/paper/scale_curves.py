"""PSNR against scale: what the sweeps beside the tables share.

An outcome holds, for each curve, `<curve>.scales` and `<curve>.psnr` (scales, signals).
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from .item import Claim, Number, judge
from .published import Printed

Arrays = Mapping[str, np.ndarray]


def curves(arrays: Arrays) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each curve's name, scales and mean PSNR."""
    for key in arrays:
        if key.endswith(".psnr"):
            name = key.removesuffix(".psnr")
            yield name, arrays[f"{name}.scales"], arrays[key].mean(axis=1)


def drawn(
    arrays: Arrays, papers: Callable[[str], float]
) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """The curves as `plot.scale_sweep.sweep_figure` takes them."""
    return {
        name: (scales, arrays[f"{name}.psnr"], papers(name))
        for name, scales, _ in curves(arrays)
    }


def numbers_of(
    arrays: Arrays,
    papers: Callable[[str], float],
    *,
    comparable: Callable[[str], bool],
    printed: Mapping[tuple[str, str], Printed] | None = None,
    read: Callable[[str], bool] = lambda name: True,
) -> list[Number]:
    """The best scale beside the paper's, then the curve beside what was read off.

    Args:
        comparable: whether a curve's best scale can be held against the paper's.
        read: whether its points can be held against the `printed` ones.
    """
    numbers = []
    for name, scales, means in curves(arrays):
        best = float(scales[means.argmax()])
        numbers.append(
            Number(
                f"{name}, best scale", papers(name), best, comparable=comparable(name)
            )
        )
        for scale, mean in zip(scales, means, strict=True):
            cell = (printed or {}).get((name, f"{scale:g}"))
            numbers.append(
                Number(
                    f"{name}, PSNR at {scale:g}",
                    None if cell is None else cell.value,
                    float(mean),
                    comparable=read(name) and (printed is None or cell is not None),
                )
            )
    return numbers


def near_the_best(
    name: str,
    scales: np.ndarray,
    means: np.ndarray,
    papers: float,
    *,
    flat: float,
    judged: bool,
    more: str = "",
) -> Claim:
    """Whether the paper's scale is as good as the best, to `flat` dB."""
    best = float(scales[means.argmax()])
    short = float(means.max() - np.interp(papers, scales, means))
    return judge(
        f"{name}: the paper's scale is within {flat} dB of the best",
        short <= flat if judged else None,
        f"{papers:g} is {short:.2f} dB below {best:g}{more}",
    )
