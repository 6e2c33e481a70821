"""`fcreview queue`: samples with known probabilities, shared out among annotators."""

from fcreview.cli.commands.queue.create import create
from fcreview.cli.commands.queue.list_ import list_
from fcreview.cli.commands.queue.show import show

COMMANDS = {"create": create, "list": list_, "show": show}
