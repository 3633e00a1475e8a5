"""beartype, with a whole number taken where a float is asked for, as pyright does."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
