"""Try, accept and list equivalence rules.

See every verdict that one would change before it is accepted.

Example: fcreview rules try result/ 'ignore-case in city'
"""

from fcreview.cli.commands.rules.add import add, remove
from fcreview.cli.commands.rules.list_ import list_
from fcreview.cli.commands.rules.try_ import try_

COMMANDS = {"try": try_, "add": add, "remove": remove, "list": list_}
