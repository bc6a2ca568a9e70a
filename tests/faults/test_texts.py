"""The text that each deliberate fault changes is in its file exactly once: else the campaign ends there."""

import pytest

from tests.faults.__main__ import FAULTS, ROOT
from tests.faults.fault import Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.game}: {fault.name}")
def test_a_faults_text_is_in_its_file_once(fault: Fault) -> None:
    assert (ROOT / fault.file).read_text().count(fault.old) == 1
    assert fault.old != fault.new
