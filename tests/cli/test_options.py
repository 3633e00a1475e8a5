"""Options: dataclasses become parsers, mistakes become one line."""

import dataclasses

import pytest

from passband.cli.options import Output, as_flags, parse
from passband.errors import InputError
from passband.options import argument, option


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Options of a made-up verb."""

    file: str | None = argument("a file", metavar="FILE", default=None)
    count: int = option(3, "how many", least=1, most=9)
    rate: float | None = option(None, "how fast", above=0)
    share: float = option(0.5, "100% is all", least=0)
    kind: str = option("auto", "which", choices=("auto", "float32", "bfloat16"))
    two_words: bool = option(False, "a flag")
    left_open: bool | None = option(None, "a flag that may be refused")


def read(*words: str) -> tuple[Options, set[str]]:
    return parse(Options, "passband verb", list(words))


def test_defaults_and_what_was_given():
    options, given = read()
    assert options == Options()
    assert given == set()
    options, given = read("--count", "4", "x.png", "--two-words")
    assert options == Options(file="x.png", count=4, two_words=True)
    assert given == {"file", "count", "two_words"}


def test_a_flag_that_is_left_open_may_be_given_and_refused():
    assert read()[0].left_open is None
    assert read("--left-open") == (Options(left_open=True), {"left_open"})
    assert read("--no-left-open") == (Options(left_open=False), {"left_open"})
    with pytest.raises(InputError, match=r"`--no-two-words` is unknown"):
        read("--no-two-words")


@pytest.mark.parametrize(
    "words",
    [
        ["x.png", "--rate", "2", "--json"],
        ["--json", "x.png", "--rate", "2"],
        ["--rate=2", "--json", "x.png"],
        ["--rate", "2", "--json", "--", "x.png"],
    ],
)
def test_any_order(words):
    assert read(*words)[0] == Options(file="x.png", rate=2.0, json=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--count", "two"], r"`--count` \(=two\) must be a whole number$"),
        (["--count", "1e3"], r"`--count` \(=1e3\) must be a whole number$"),
        (["--count", "0"], r"`--count` \(=0\) must be at least 1$"),
        (["--count", "-1"], r"`--count` \(=-1\) must be at least 1$"),
        (["--count", "10"], r"`--count` \(=10\) must be at most 9$"),
        (["--rate", "fast"], r"`--rate` \(=fast\) must be a number$"),
        (["--rate", "0"], r"`--rate` \(=0\) must be more than 0$"),
        (["--rate=-1e-3"], r"`--rate` \(=-1e-3\) must be more than 0$"),
        (["--rate", "nan"], r"`--rate` \(=nan\) must be a finite number$"),
        (["--share", "inf"], r"`--share` \(=inf\) must be a finite number$"),
        (["--rate"], "`--rate` needs a value; .* `--rate=-...`$"),
        (["--rate", "--json"], "`--rate` needs a value"),
        (["--kind", "float"], "one of auto, float32, bfloat16; did you mean `float32`"),
        (["--kind", "zzz"], r"`--kind` \(=zzz\) .* auto, float32, bfloat16$"),
        (["--cuont", "2"], "`--cuont` is unknown; did you mean `--count`"),
        (["--cuont=2"], "`--cuont=2` is unknown; did you mean `--count`"),
        (["--coun", "2"], "`--coun` is unknown; did you mean `--count`"),
        (["--zzzz"], "`--zzzz` is unknown; see `passband verb --help`"),
        (["a", "b"], "argument `b` is one too many"),
        (["--json=3"], "json"),
    ],
)
def test_mistakes_name_the_option(words, message):
    with pytest.raises(InputError, match=message):
        read(*words)


def test_missing_argument():
    @dataclasses.dataclass
    class Needy:
        model: str = argument("a model", metavar="MODEL")

    for words in ([], [""]):
        with pytest.raises(
            InputError, match="MODEL is missing; see `passband v --help"
        ):
            parse(Needy, "passband v", words)


def test_help_tells_of_every_option(capsys):
    with pytest.raises(SystemExit) as end:
        read("--help")
    assert end.value.code == 0
    said = capsys.readouterr().out
    for words in ("--count INT", "auto|float32|bfloat16", "100% is all", "default: 3"):
        assert words in said
    assert max(map(len, said.splitlines())) <= 88


def test_what_the_library_says_of_arguments_the_command_says_of_flags():
    @dataclasses.dataclass(frozen=True)
    class Two(Output):
        """Two."""

        file: str = argument("the file", metavar="FILE")
        max_size: int = option(1, "how large")

    said = "`file` (=x) and `max_size` (=2) disagree; try `max_size=3` or `other`"
    told = "FILE (=x) and `--max-size` (=2) disagree; try `--max-size 3` or `other`"
    assert as_flags(said, Two) == told
    assert as_flags("`file` is a folder", Two) == "`file` is a folder"
