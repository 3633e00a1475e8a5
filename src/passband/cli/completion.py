"""`passband completion SHELL`: a script that completes commands, options and values."""

import dataclasses
import importlib
import typing
from collections.abc import Iterator
from typing import Any

from ..errors import InputError
from ..kinds.table import KINDS
from ..options import argument, did_you_mean
from .options import kind_of_option

SHELLS = ("bash", "zsh", "fish")


@dataclasses.dataclass(frozen=True)
class Options:
    """Print a script for a shell: `passband completion bash > FILE`."""

    shell: str | None = argument("bash, zsh or fish", metavar="SHELL", default=None)


@dataclasses.dataclass(frozen=True)
class Flag:
    """An option as a shell sees it."""

    name: str
    help: str
    takes: bool
    """Whether a value follows."""
    values: tuple[str, ...]
    """Those that there are; none where it may be anything, or a file."""


def run(options: Options, given: set[str]) -> int:
    """Print the script."""
    del given
    if options.shell not in SHELLS:
        told = (
            "is missing" if options.shell is None else f"(={options.shell}) is unknown"
        )
        hint = did_you_mean(options.shell or "", SHELLS)
        raise InputError(f"`shell` {told}; {hint}there are {', '.join(SHELLS)}")
    from .main import KIND_VERBS, VERBS

    table = {" ".join(words): list(flags_of(cls)) for words, cls in _every()}
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print(make(table, {v: what or "for KIND" for v, what in VERBS.items()}, KIND_VERBS))
    return 0


def _every() -> Iterator[tuple[tuple[str, ...], type]]:
    """Every command and its options."""
    from .main import KIND_VERBS, VERBS

    for verb in VERBS:
        module = importlib.import_module(f"passband.cli.{verb}")
        if verb not in KIND_VERBS:
            yield (verb,), module.Options
        for name, row in KINDS.items() if verb in KIND_VERBS else ():
            yield (verb, name), module.options_of(row)


def flags_of(cls: type) -> Iterator[Flag]:
    """The options of a command, from its table."""
    hints = typing.get_type_hints(cls)
    for f in dataclasses.fields(cls):
        if f.metadata.get("positional"):
            continue
        meta: Any = f.metadata
        name, text = f"--{f.name.replace('_', '-')}", " ".join(meta["help"].split())
        takes = kind_of_option(hints[f.name]) is not bool
        yield Flag(name, text, takes, (*meta["choices"], *meta["words"]))
        if not takes and f.default is None:
            yield Flag(name.replace("--", "--no-", 1), f"not: {text}", False, ())
    yield Flag("--help", "show this and exit", False, ())


Table = dict[str, list[Flag]]


def _bash(table: Table, verbs: dict[str, str], of_kinds: tuple[str, ...]) -> str:
    cases = []
    for words, flags in table.items():
        values = "".join(
            f"        {f.name}) words='{' '.join(f.values)}' ;;\n"
            for f in flags if f.values
        )  # fmt: skip
        files = "|".join(f.name for f in flags if f.takes and not f.values)
        values += f"        {files}) return ;;\n" if files else ""
        names = " ".join(f.name for f in flags)
        cases.append(
            f"    '{words}')\n      words='{names}'\n"
            f'      case "$prev" in\n{values}      esac ;;\n'
        )
    return f"""# Completion of passband for bash; made by `passband completion bash`.
_passband() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  local verb="${{COMP_WORDS[1]}}" words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(verbs)} --help --version' -- "$cur"))
    return
  fi
  case "$verb" in {"|".join(of_kinds)})
    if [ "$COMP_CWORD" -eq 2 ]; then
      COMPREPLY=($(compgen -W '{" ".join(KINDS)}' -- "$cur"))
      return
    fi
    verb="$verb ${{COMP_WORDS[2]}}" ;;
  esac
  case "$verb" in
{"".join(cases)}  esac
  if [[ "$cur" == -* || "$words" != -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -o default -F _passband passband"""


def _zsh(table: Table, verbs: dict[str, str], of_kinds: tuple[str, ...]) -> str:
    def spec(flag: Flag) -> str:
        text = flag.help
        for mark in "\\[]:'":
            text = text.replace(mark, "" if mark == "'" else f"\\{mark}")
        value = f":value:({' '.join(flag.values)})" if flag.values else ":value:_files"
        return f"'{flag.name}[{text}]{value if flag.takes else ''}'"

    cases = "".join(
        f"    '{words}') _arguments {' '.join(map(spec, flags))} '*:file:_files' ;;\n"
        for words, flags in table.items()
    )
    return f"""#compdef passband
# Completion of passband for zsh; made by `passband completion zsh`.
_passband() {{
  local verb="$words[2]"
  if (( CURRENT == 2 )); then
    compadd -- {" ".join(verbs)} --help --version
    return
  fi
  case "$verb" in {"|".join(of_kinds)})
    if (( CURRENT == 3 )); then
      compadd -- {" ".join(KINDS)}
      return
    fi
    verb="$verb $words[3]"
    shift words; (( CURRENT-- )) ;;
  esac
  shift words; (( CURRENT-- ))
  case "$verb" in
{cases}  esac
}}
if [ "$funcstack[1]" = _passband ]; then
  _passband "$@"
else
  compdef _passband passband
fi"""


def _fish(table: Table, verbs: dict[str, str], of_kinds: tuple[str, ...]) -> str:
    lines = [
        "# Completion of passband for fish; made by `passband completion fish`.",
        "function __passband_at",
        "    set -l words (commandline -opc)",
        "    set -e words[1]",
        "    set -l last (count $argv)",
        "    test (count $words) -ge $last",
        '    and test "$words[1..$last]" = "$argv"',
        "end",
    ]
    first = "test (count (commandline -opc)) -eq 1"
    for verb, what in verbs.items():
        lines.append(
            f"complete -c passband -f -n '{first}' -a {verb} -d {_quoted(what)}"
        )
    for verb in of_kinds:
        at = f"__passband_at {verb}; and test (count (commandline -opc)) -eq 2"
        for name, row in KINDS.items():
            lines.append(
                f"complete -c passband -f -n '{at}' -a {name} -d {_quoted(row.thing)}"
            )
    for words, flags in table.items():
        for flag in flags:
            value = f" -xa '{' '.join(flag.values)}'" if flag.values else " -r"
            lines.append(
                f"complete -c passband -n '__passband_at {words}' -l "
                f"{flag.name.removeprefix('--')}{value if flag.takes else ''} "
                f"-d {_quoted(flag.help)}"
            )
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
