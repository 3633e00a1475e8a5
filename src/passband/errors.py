"""The one error that is the user's to mend."""


class InputError(ValueError):
    """Something the user gave is wrong: a file, an option, an array.

    Its message is one line that names the thing in backticks, says what was found and
    what would work. The command prints it and exits with status 2.
    """
