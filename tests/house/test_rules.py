"""The register of rules: every rule of every game has a test (`make rules`)."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.layout import ROOT
from tools.rules import Rule, judge, parse, register


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "tools" / "rules.py"), str(root)], capture_output=True, text=True)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house with one game of three rules, the last of them without behaviour, and no test yet."""
    game = tmp_path / "services" / "chess"
    game.mkdir(parents=True)
    (game / "RULES.md").write_text(
        "# Chess\n\n- **CH-01** [Moves] a pawn moves forward\n- **CH-02** [Moves] a king never stays in check\n"
        "- **CH-03** [Box] the board has two colours (no behaviour)\n"
    )
    (tmp_path / "tests").mkdir()
    return tmp_path


def write_tests(house: Path, text: str) -> None:
    (house / "tests" / "test_chess.py").write_text(f"import pytest\n{text}")


def test_this_house_is_in_order() -> None:
    result = run(ROOT)
    assert result.returncode == 0, result.stderr


def test_rules_with_tests_are_printed_with_them(house: Path) -> None:
    write_tests(
        house,
        "@pytest.mark.rule('CH-01', 'CH-02')\n@pytest.mark.parametrize('n', [1, 2])\ndef test_move(n): ...\n"
        "class TestKing:\n    pytestmark = pytest.mark.rule('CH-02')\n    def test_check(self): ...\n",
    )
    result = run(house)
    assert result.returncode == 0, result.stderr
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines == [
        "chess: 3 rules, 2 with tests, 1 without behaviour",
        "CH-01   a pawn moves forward",
        "tests/test_chess.py::test_move",
        "CH-02   a king never stays in check",
        "tests/test_chess.py::test_move",
        "tests/test_chess.py::TestKing::test_check",
        "CH-03   the board has two colours",
        "(no behaviour)",
    ]


@pytest.mark.parametrize(
    ("tests", "complaint"),
    [
        ("@pytest.mark.rule('CH-01')\ndef test_move(): ...\n", "CH-02 has no test"),
        ("@pytest.mark.rule('CH-01', 'CH-02', 'CH-09')\ndef test_move(): ...\n", "no game has a rule CH-09"),
        ("@pytest.mark.rule('CH-01', 'CH-02')\ndef helper(): ...\n", "CH-01 has no test"),
        ("@pytest.mark.skip\n@pytest.mark.rule('CH-01', 'CH-02')\ndef test_move(): ...\n", "CH-02 has no test"),
        ("import no_such_module\n", "no_such_module"),
    ],
)
def test_what_is_out_of_order_is_told(house: Path, tests: str, complaint: str) -> None:
    write_tests(house, tests)
    result = run(house)
    assert result.returncode == 1
    assert complaint in result.stderr


def test_a_line_that_cannot_be_read_is_told() -> None:
    text = "- **CH-01** a rule without its place\n- CH-02 [Moves] not bold\n- **Pawns** are no rule\n"
    assert [fault for fault in parse("chess", text) if isinstance(fault, str)] == [
        "chess/RULES.md:1 is not of the form `- **AA-41** [place in the book] text`",
        "chess/RULES.md:2 is not of the form `- **AA-41** [place in the book] text`",
    ]


def test_a_rule_that_stands_twice_is_told(house: Path) -> None:
    other = house / "services" / "draughts"
    other.mkdir()
    (other / "RULES.md").write_text("- **CH-01** [Moves] a man moves forward\n")
    assert register(house / "services")[1] == ["CH-01 stands twice: in chess and in draughts"]


def test_a_rule_without_behaviour_may_have_a_test() -> None:
    rule = Rule("CH-03", "chess", "Box", "the board has two colours", behaves=False)
    assert judge([rule], {}) == judge([rule], {"CH-03": ["test_board"]}) == []


def test_an_id_may_name_a_series() -> None:
    lines = "- **CH-D01** [Variant] a rule\n- **CH-AD10** [name = one | other] a ruling\n- CH-D2 [Variant] not bold\n"
    first, ruling, fault = parse("chess", lines)
    assert isinstance(first, Rule) and isinstance(ruling, Rule)
    assert (first.id, ruling.id, ruling.place) == ("CH-D01", "CH-AD10", "name = one | other")
    assert fault == "chess/RULES.md:3 is not of the form `- **AA-41** [place in the book] text`"
