"""A new view as the photograph that was taken nearest to it."""

import numpy as np

from ..data.scenes import Photographs
from ..tasks.nerf import psnr_of_views


def nearest_psnr(train: Photographs, test: Photographs) -> float:
    """Mean PSNR of showing, for every test view, the photograph taken nearest to it."""
    return psnr_of_views(nearest_photographs(train, test), test.pixels / 255).mean()


def nearest_photographs(train: Photographs, test: Photographs) -> np.ndarray:
    """For every test view, the photograph taken nearest to it."""
    return train.pixels[apart(train, test).argmin(axis=1)] / 255


def apart(train: Photographs, test: Photographs) -> np.ndarray:
    """Distances of the cameras of test views, in rows, from those of photographs."""
    return np.linalg.norm(
        test.poses[:, None, :, 3] - train.poses[None, :, :, 3], axis=2
    )
