"""A campaign by hand: `python -m tests.chaos --seconds 1800 --brokers 3 --seed 7 --directory DIR`.

The report, the history and what the processes said are left in the directory.
"""

import argparse
import asyncio
import sys
from dataclasses import fields
from pathlib import Path

from tests.chaos.campaign import Plan, run


def main() -> int:
    """Runs it; 1 if there are violations."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option in fields(Plan):
        parser.add_argument(f"--{option.name}", type=type(option.default), default=option.default)
    parser.add_argument("--directory", type=Path, required=True)
    options = vars(parser.parse_args())
    directory = options.pop("directory")
    report = asyncio.run(run(Plan(**options), directory))
    print(report)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
