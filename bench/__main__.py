"""Measure everything, or what is named, and print one table: `python -m bench [engine] [enumeration] …`.

A measure is a module of this folder with a function `rows() -> Iterable[Row]`.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench.table import Row, show


def main(chosen: list[str]) -> None:
    """Run the measures of these names, or all."""
    names = sorted(module.name for module in iter_modules(bench.__path__) if module.name != "__main__")
    if unknown := set(chosen) - set(names):
        sys.exit(f"no measure {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    rows: list[Row] = []
    for name in chosen or names:
        measure = getattr(import_module(f"bench.{name}"), "rows", None)
        if measure is not None:
            print(f"{name} …", file=sys.stderr)
            rows += measure()
    show(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
