"""What a person at a terminal sees: progress, and what Ctrl-C does."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios

from passband.cli.console import Console
from passband.cli.main import main
from passband.kinds.session import duration, progress_line

CLEAR = "\r\x1b[K"


def at_a_terminal(words: list[str], cue: str, columns: int) -> tuple[int, str, str]:
    """Run a command with a terminal for its stderr; a Ctrl-C follows sight of `cue`.

    Gives the exit status, what was on the terminal, and what was on stdout.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "passband", *words]
    run = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    seen, sent = b"", False
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not sent and cue.encode() in seen:
            run.send_signal(signal.SIGINT)
            sent = True
    out, _ = run.communicate()
    os.close(ours)
    return run.returncode, seen.decode().replace("\r\n", "\n"), out.decode()


def test_progress_then_interrupted_then_going_on(here, quick, capsys):
    words = ["fit", "image", "photo.png", *quick, "--steps", "2000000", "--json"]
    words += ["--out", "a run"]
    status, seen, out = at_a_terminal(words, " points", columns=60)
    assert status == 130
    assert out == ""
    first, *lines, end = seen.split(CLEAR)
    assert first == "step 0/2000000  compiling"
    for line in lines:
        assert line.startswith("step ")
        assert " loss " in line
        assert len(line) < 60
    assert any(" psnr " in line and " points" in line for line in lines)
    assert len(max(lines, key=len)) == 59  # cut, where it would have wrapped
    command = "passband fit image --resume --out 'a run'"
    assert end == f"stopped; `{command}` goes on from here\n"
    log = (here / "a run" / "metrics.jsonl").read_text().splitlines()
    stood = json.loads(log[-1])["step"]
    # The command it named, with an end that is nearer.
    config = json.loads((here / "a run" / "config.json").read_text())
    config["steps"] = stood + 25
    (here / "a run" / "config.json").write_text(json.dumps(config))
    capsys.readouterr()
    assert main(["fit", "image", "--resume", "--out", "a run", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == f"going on from step {stood} of {stood + 25}\n"
    assert json.loads(out)["steps"] == stood + 25
    log = (here / "a run" / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in log]
    assert steps == list(range(25, stood + 26, 25))


def test_progress_line_speaks_of_speed_once_it_is_known():
    entry = {"step": 25.0, "seconds": 9.0, "loss": 0.5, "psnr": 3.0}
    assert progress_line(entry, (25, 9.0), 100, 64) == (
        "step 25/100  loss 0.5  psnr 3.00 dB"
    )
    entry = {"step": 75.0, "seconds": 14.0, "loss": 0.25}
    assert progress_line(entry, (25, 9.0), 1000, 2_000) == (
        "step 75/1000  loss 0.25  20k points/s  1:32 left"
    )


def test_duration():
    assert [duration(s) for s in (0.4, 59.6, 3599, 3600, 86399)] == [
        "0:00", "1:00", "59:59", "1:00:00", "23:59:59"]  # fmt: skip


def test_quiet_leaves_errors_only(capsys):
    console = Console(quiet=True)
    console.say("a")
    console.warn("b")
    console.progress("c")
    console.result({}, "d")
    console.error("e")
    assert capsys.readouterr() == ("", "e\n")
