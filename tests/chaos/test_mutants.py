"""What the live check is tested against is still a change of the code as it stands."""

import pytest

from tests.chaos.mutants import MUTANTS
from tests.faults.__main__ import ROOT
from tests.faults.fault import Fault


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_has_its_place(mutant: Fault) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
