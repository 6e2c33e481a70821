"""How ACEBench compares texts, for the argument diff: the checker itself only asks that one contains the other."""

from fcreview.calls.face import Rules
from fcreview.importers.acebench.check_value import normalise

RULES = Rules(normalise=normalise)
