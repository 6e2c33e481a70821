"""Corrected golden answers and equivalence rules as one file.

Make it, check it, tell the benchmark's maintainers.

Example: fcreview errata create result/ -o errata.jsonl
"""

from fcreview.cli.commands.errata.check import check
from fcreview.cli.commands.errata.create import create
from fcreview.cli.commands.errata.issue import issue

COMMANDS = {"create": create, "check": check, "issue": issue}
