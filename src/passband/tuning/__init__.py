"""Choosing the frequencies: a scale from the data themselves."""

from .choice import Choice as Choice
from .choose import choose as choose
from .grid import grid_problem as grid_problem
from .points import points_problem as points_problem
from .problem import Held as Held
from .problem import Problem as Problem
from .sweep import Plan as Plan
