"""The picture's part of `passband fit`."""

from pathlib import Path
from typing import Any

from ..data.images import Image, read_image, write_image
from ..export.report import write_report
from ..field import Field
from ..plot.spectrum import spectrum_figure
from ..plot.triptych import triptych
from ..tasks.image import ImageTask, image_task, split_pixels
from ..train.run_folder import RunFolder
from .fit_image import Options
from .fit_job import FitJob


class ImageJob(FitJob):
    """A picture file, fitted."""

    name = "image"
    image: Image

    def read(self, path: Path) -> None:
        self.image = read_image(path)

    def task(self, options: Options, batch: int | None) -> ImageTask:
        return image_task(
            self.image, holdout=options.holdout, batch=batch, seed=options.seed
        )

    def field_options(self) -> dict[str, Any]:
        return {"d": 2, "out": self.image.values.shape[2], "output": "sigmoid"}

    def points(self, options: Options) -> tuple[int, int]:
        h, w, _ = self.image.values.shape
        train, _ = split_pixels((h, w), options.holdout, options.seed)
        return h * w if train is None else len(train), h * w

    def nyquist(self, options: Options) -> float:
        longest = max(self.image.values.shape[:2])
        return longest / (4 if options.holdout == "quarter" else 2)

    def finish(
        self,
        task: ImageTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        prediction, truth = task.predict(field), task.truth()
        result["metrics"] = task.metrics(field, prediction)
        h, w, c = self.image.values.shape
        figures = {
            "triptych": triptych(truth, prediction),
            "spectrum": spectrum_figure(
                truth,
                prediction,
                max(h, w) / 2,
                result["sigma"],
                mapping=result["mapping"],
            ),
        }
        write_image(folder.path / "preview.png", prediction)
        write_report(
            folder.path / "report.html",
            title=self.image.name,
            config=folder.config,
            result=result,
            figures=figures,
            history=history,
        )
        bits = {1: 8, 2: 16}.get(self.image.values.dtype.itemsize, 32)
        low, high = self.image.low, self.image.high
        return {"shape": [h, w, c], "low": low, "high": high, "bits": bits}
