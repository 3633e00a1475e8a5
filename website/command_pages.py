"""The page of the command: what `--help` says of every verb."""

import contextlib
import io

from passband.cli.main import commands, main

LEAD = """# The command

Every verb takes `--help`, which answers at once; this page is the same text. Exit status 0 is
done, 2 is a mistake in what was asked (one line says which), 130 is stopped by Ctrl-C with the
state saved, 1 is anything else. `--json` prints one object on stdout and nothing else there.

`passband completion bash|zsh|fish` prints a script that completes verbs, kinds, options and
their values:

```
passband completion bash > ~/.local/share/bash-completion/completions/passband
passband completion zsh > "${fpath[1]}/_passband"
passband completion fish > ~/.config/fish/completions/passband.fish
```
"""


def page() -> str:
    """The help of every command under a heading of its own."""
    parts = [LEAD]
    for words in commands():
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([*words.split(), "--help"])
        parts += [f"## passband {words}", ""]
        parts += ["```text", said.getvalue().rstrip(), "```", ""]
    return "\n".join(parts)
