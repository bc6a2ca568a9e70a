"""The program itself, before what it needs is there."""

import subprocess
import sys

import pytest

UNGENERATED = """
import sys
sys.path = [path for path in sys.path if not path.endswith("/gen")]
from guildhall.cli.main import main
main()
"""


@pytest.mark.parametrize("words", [[], ["--help"], ["play", "trickerion"], ["serve", "all"]])
def test_before_gen_is_made_it_says_in_a_sentence_what_makes_it(words: list[str]) -> None:
    result = subprocess.run([sys.executable, "-c", UNGENERATED, *words], capture_output=True, text=True)
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.startswith("guildhall.") and "make gen" in result.stderr and result.stderr.count("\n") == 1


def test_a_module_that_is_missing_otherwise_is_no_matter_of_gen() -> None:
    broken = UNGENERATED.replace(
        "main()", "import guildhall.cli.main as m; m._run = lambda: __import__('nowhere'); main()"
    )
    result = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True)
    assert result.returncode == 1 and "ModuleNotFoundError: No module named 'nowhere'" in result.stderr
