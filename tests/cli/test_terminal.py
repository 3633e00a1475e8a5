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


def test_into_a_pipe_goes_a_line_every_ten_seconds(capsys, monkeypatch):
    """Before, `render --resolution 4000` into a pipe said nothing for minutes."""
    monkeypatch.setattr("passband.cli.console.PIPE_SECONDS", 10.0)
    clock = [0.0]
    monkeypatch.setattr("passband.cli.console.time.monotonic", lambda: clock[0])
    console = Console()
    for clock[0] in (0.0, 4.0, 9.9, 10.0, 12.0, 19.9, 25.0):
        console.progress(f"at {clock[0]:g} s")
    console.progress("the end", often=False)
    assert capsys.readouterr() == ("", "at 10 s\nat 25 s\n")


def test_a_large_render_tells_how_far_it_is(image_run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("passband.cli.console.PIPE_SECONDS", 0.0)
    words = ["render", str(image_run), "--out", str(tmp_path / "a.png")]
    assert main([*words, "--resolution", "1024"]) == 0
    err = capsys.readouterr().err
    assert "evaluating the field  33%\n" in err and "field  100%\n" in err


def test_quiet_leaves_errors_only(capsys):
    console = Console(quiet=True)
    console.say("a")
    console.warn("b")
    console.progress("c")
    console.result({}, "d")
    console.error("e")
    assert capsys.readouterr() == ("", "e\n")
