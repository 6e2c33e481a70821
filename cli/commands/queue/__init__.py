"""Draw samples with known probabilities, and share them out among annotators.

Example: fcreview queue list runs/gpt4o
"""

from fcreview.cli.commands.queue.create import create
from fcreview.cli.commands.queue.extend import extend
from fcreview.cli.commands.queue.list_ import list_
from fcreview.cli.commands.queue.show import show

COMMANDS = {"create": create, "extend": extend, "list": list_, "show": show}
