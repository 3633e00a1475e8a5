"""A video: GIF, a folder of frames, NPZ, NPY, MP4."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from ..data.videos import Video, read_video, video_files
from ..field import Field
from ..members import mean_and_spread
from ..plot.picture_grid import picture_grid
from ..plot.triptych import triptych
from ..tasks.metrics import psnr
from ..tasks.slices import (
    SlicesTask,
    mean_of_neighbours,
    slices_task,
    train_slices,
)
from ..tuning.grid import grid_problem
from ..tuning.problem import Problem
from .defaults import cut_to_size, on_cpu, paper_lr, points_in_time, resolve, start_at
from .image_stacks import colours
from .kind import (
    SILENT,
    Evaluation,
    Kind,
    Listener,
    Network,
    Rendered,
    Training,
    TrialSize,
    Units,
    spread_of,
)
from .model_facts import shape_of
from .options import TrainOptions
from .pace import points_in
from .render_video import render_video
from .shown import Make, Reconstruction, Shown
from .video_options import VideoOptions
from .views import video_view

STEPS = 2000
MOST_POINTS, CPU_MOST_POINTS = 400_000_000, 2_000_000
"""Of the frames that are evaluated at the end."""
STRIP = 3  # frames that the report shows
NEIGHBOURS = "mean of neighbours"


@dataclasses.dataclass(frozen=True, eq=False)
class VideoKind(Kind):
    """Frames; pixel (row, column) of frame k is at (column, row, k) / (longest side),
    the number of frames among the sides."""

    name = "video"
    view = staticmethod(video_view)
    cpu_trials, gpu_trials = TrialSize(1280, 1024), TrialSize(1536, 2**12)
    render_example = "--time 3.5 --out between.png"

    options: VideoOptions
    video: Video

    @classmethod
    def inputs(cls, options: VideoOptions) -> list[Path]:
        return video_files(cls.source(options))

    @classmethod
    def read(cls, options: VideoOptions, listener: Listener = SILENT) -> "VideoKind":
        path = cls.source(options)
        listener.progress(f"reading {path.name}", often=False)
        video = read_video(path, frames=options.frames, longest=options.longest)
        train_slices(video.values.shape[2], options.holdout)
        return cls(options, video.name, video)

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        h, w, t, _ = self.video.values.shape
        train = h * w * len(train_slices(t, self.options.holdout))
        evaluate = len(self._scored(None)) * h * w
        batch = points_in_time(train, evaluate, STEPS)
        return resolve(
            asked, mapping, steps=STEPS, batch=batch, lr=paper_lr(mapping), muon_lr=2e-3
        )

    def network(self, training: Training | None = None) -> Network:
        values, low, high = self.video.values, self.video.low, self.video.high
        start = start_at((values.mean(dtype=np.float64) - low) / (high - low))
        return Network(3, values.shape[3], "sigmoid", start)

    def task(self, training: Training) -> SlicesTask:
        return slices_task(
            self.video, holdout=self.options.holdout, batch=training.batch
        )

    def nyquist(self) -> float:
        return max(self.video.values.shape[:3]) / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        values, low, high = self.video.values, self.video.low, self.video.high
        known = np.zeros(values.shape[:3], bool)
        known[:, :, train_slices(values.shape[2], self.options.holdout)] = True
        most, batch = cut_to_size(int(known.sum()), size)
        return grid_problem(
            ((values - low) / (high - low)).astype(np.float32),
            known=None if known.all() else known, most=most, batch=batch,
            seed=asked.seed, start=self.network().start, name="pixels of frames",
        )  # fmt: skip

    def _scored(self, most: int | None) -> np.ndarray:
        """The frames that are evaluated; of many every 3rd, 5th ...: an odd step meets
        trained and held-out frames alike."""
        h, w, t, _ = self.video.values.shape
        room = CPU_MOST_POINTS if on_cpu() else MOST_POINTS
        room = room if most is None else min(room, most)
        k = 1
        while -(-t // k) * h * w > room and -(-t // (k + 2)) >= 2:
            k += 2
        return np.arange(0, t, k)

    def evaluate(
        self,
        task: SlicesTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        h, w, t, c = self.video.values.shape
        frames = self._scored(
            None if seconds is None else points_in(seconds / 2, field)
        )
        more = {}
        if len(frames) < t:
            more["evaluated"] = f"{len(frames)} of {t} frames"
        seen, apart = mean_and_spread(field, lambda one: task.predict(one, frames))
        truth, train = task.truth(frames), np.asarray(task.train)
        held = np.flatnonzero(~np.isin(frames, train))
        baselines = {}
        if len(held):
            level = psnr(self._between()[frames[held]], truth[held], data_range=1.0)
            baselines[NEIGHBOURS] = {"psnr_test": level}
        strip = held if len(held) else np.arange(len(frames))
        strip = strip[np.linspace(0, len(strip) - 1, STRIP).round().astype(int)]
        middle = int(strip[len(strip) // 2])
        unit = self.video.high - self.video.low
        bits = {1: 8, 2: 16}.get(self.video.values.dtype.itemsize, 32)

        def figures() -> dict[str, Any]:
            levels = [psnr(seen[k], truth[k], data_range=1.0) for k in strip]
            grid = picture_grid(
                [[colours(truth[k]), colours(seen[k])] for k in strip],
                titles=("Frame", "Rendered"),
                captions=[
                    [f"frame {frames[k]}", f"{level:.2f} dB"]
                    for k, level in zip(strip, levels, strict=True)
                ],
            )
            return {"triptych": triptych(truth[middle], seen[middle]), "Frames": grid}

        return Evaluation(
            metrics=task.scores(seen, frames),
            about={
                "shape": [h, w, t, c], "low": self.video.low, "high": self.video.high,
                "bits": bits, "rate": self.video.rate,
            },
            preview=lambda: np.concatenate([truth[middle], seen[middle]], axis=1),
            figures=figures,
            baselines=baselines,
            more=more,
            spread=spread_of(
                None if apart is None else apart[middle], unit,
                unit * seen[middle], unit * truth[middle], channels=True,
            ),
            shown=lambda: Shown(
                colours(seen[middle]), colours(truth[middle]),
                {NEIGHBOURS: colours(self._between()[frames[middle]])}
                if len(held) else {},
            ),
        )  # fmt: skip

    def _between(self) -> np.ndarray:
        task = slices_task(self.video, holdout=self.options.holdout)
        return mean_of_neighbours(task.truth(), np.asarray(task.train))

    def classical(self, room: int) -> dict[str, Make]:
        """The frames held out as the mean of those beside them."""
        del room
        if self.options.holdout == "none":
            return {}

        def neighbours() -> Reconstruction:
            task, frames = slices_task(self.video, holdout="odd"), self._scored(None)
            seen, truth = self._between()[frames], task.truth(frames)
            held = np.flatnonzero(~np.isin(frames, np.asarray(task.train)))
            k = int(held[len(held) // 2])
            shown = Shown(colours(seen[k]), colours(truth[k]))
            return Reconstruction(task.scores(seen, frames), shown)

        return {NEIGHBOURS: neighbours}

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_video(field, about, options, listener)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        sides = shape_of(field, about, 3)[:3]
        return Units(
            np.zeros(3), np.full(3, 1 / max(sides)), np.zeros(3),
            "column, row and frame of the fitted video",
        )  # fmt: skip
