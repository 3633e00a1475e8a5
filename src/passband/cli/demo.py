"""`passband demo`."""

import dataclasses
import time

from ..options import option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Fit the sample picture without and with Fourier features; one picture of both."""

    out: str = option("demo", "folder for the picture and the models", metavar="DIR")
    steps: int = option(500, "training steps", least=1)
    batch: int = option(2048, "pixels a step", least=1)
    overwrite: bool = option(False, "replace an earlier demo in that folder")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """The paper's first figure, on the astronaut that ships inside scikit-image."""
    from .device import prepare

    prepare(options.device, quiet=options.quiet)
    from pathlib import Path

    import jax
    import numpy as np
    import skimage.data
    import skimage.transform

    from ..atomic_write import make_folder, refuse_existing, write_bytes
    from ..data.images import Image
    from ..field import make_field
    from ..kinds.session import progress_line
    from ..model_file import save
    from ..plot.comparison import demo_figure
    from ..plot.style import png_bytes
    from ..tasks.image import image_task
    from ..train.device import device_name
    from ..train.driver import Config, train
    from .console import Console

    console = Console(json=options.json, quiet=options.quiet)
    folder = Path(options.out)
    models = {
        word: folder / f"{word.replace(':', '-')}.safetensors"
        for word in ("none", "gaussian:10")
    }
    target = folder / "demo.png"
    refuse_existing([target, *models.values()], options.overwrite)
    make_folder(folder)  # now, not after a minute of training
    small = skimage.transform.resize_local_mean(skimage.data.astronaut(), (256, 256))
    picture = Image(np.round(255 * small).astype(np.uint8), 0.0, 255.0, "astronaut")
    task = image_task(picture, batch=options.batch)
    found, scores = {}, {}
    begun = time.perf_counter()
    rates = (1e-2, 1e-3)  # the paper's, the best for each (protocol 1.5)
    for (word, model), rate in zip(models.items(), rates, strict=True):
        field_key, key = jax.random.split(jax.random.key(0))
        field = make_field(word, d=2, out=3, key=field_key)
        console.say(f"fitting `{word}`: {options.steps} steps on {device_name()}")
        first: list[tuple[float, float]] = []

        def on_log(_, entry, first=first):
            first.append((entry["step"], entry["seconds"]))
            console.progress(
                progress_line(entry, first[0], options.steps, task.step_points)
            )

        config = Config(steps=options.steps, lr=rate)
        [field], _ = train([task], [field], config, keys=[key], on_log=on_log)
        seen = task.predict(field)
        scores[word] = task.metrics(field, seen)["psnr"]
        found[word] = (seen, scores[word])
        save(
            field,
            model,
            task="image",
            mapping=word,
            metrics={"psnr": scores[word]},
            steps=options.steps,
            shape=[256, 256, 3],
            low=0.0,
            high=255.0,
            bits=8,
        )
    least, most = sorted(rates)
    drawn = demo_figure(
        task.truth(),
        found,
        headline="The same network and steps, each at its best learning rate: "
        f"{most:g} and {least:g}",
    )
    write_bytes(target, png_bytes(drawn))
    content = {
        "psnr": scores,
        "seconds": round(time.perf_counter() - begun, 1),
        "device": device_name(),
        "picture": str(target),
        "models": {word: str(model) for word, model in models.items()},
    }
    gain = scores["gaussian:10"] - scores["none"]
    console.result(
        content,
        f"without Fourier features {scores['none']:.2f} dB, with them "
        f"{scores['gaussian:10']:.2f} dB: {gain:+.2f} dB in {content['seconds']} s\n"
        f"look at {target}",
    )
    return 0
