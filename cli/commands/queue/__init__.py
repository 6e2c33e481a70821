"""Draw samples to review, and share them out.

Samples have known probabilities; annotators get their shares.

Example: fcreview queue list runs/gpt4o
"""

from fcreview.cli.commands.queue.create import create
from fcreview.cli.commands.queue.extend import extend
from fcreview.cli.commands.queue.list_ import list_
from fcreview.cli.commands.queue.show import show

COMMANDS = {"create": create, "extend": extend, "list": list_, "show": show}
