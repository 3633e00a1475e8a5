"""`passband view MODEL|RUN`."""

import dataclasses
import sys

from ..options import argument, option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Look at a model in the browser of this machine, Python evaluating it; at a run
    that is still training, how far it has come. Ctrl-C ends it."""

    model: str = argument("a model.safetensors, or a run's folder", metavar="MODEL")
    port: int = option(0, "on 127.0.0.1 (0: any that is free)", least=0, most=65535)
    no_browser: bool = option(False, "print the address and open no browser")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Serve until Ctrl-C."""
    from .device import prepare

    prepare(options.device, quiet=options.quiet)
    import webbrowser
    from pathlib import Path

    from ..kinds.viewing import Viewed, ViewServer
    from .console import Console

    console = Console.of(options)
    with ViewServer(Viewed(Path(options.model)), options.port) as server:
        try:
            console.result({"address": server.address}, server.address)
            sys.stdout.flush()  # whoever reads it from a pipe waits for it
            if not options.no_browser:
                webbrowser.open(server.address)
            server.serve_forever()
        except KeyboardInterrupt:
            console.say("ended")
    return 0
