"""A person at a pseudo-terminal who answers every question of `guildhall play` with one of its numbers."""

import os
import pty
import random
import re
from collections.abc import Callable, Sequence

from tests.cli.hall import GUILDHALL

ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Screen:
    """What a game showed, and how it ended."""

    def __init__(self, text: str, exit_code: int, questions: int) -> None:
        self.text = text
        self.exit_code = exit_code
        self.questions = questions


def sit_down(
    words: Sequence[str],
    answer: Callable[[str, int], str] | None = None,
    *,
    seed: int = 1,
    columns: int = 100,
    lines: int = 40,
) -> Screen:
    """Run `guildhall play` with these words until it ends.

    `answer` gets the last question as text and its number, and may give another answer than a random legal number
    by not returning "".
    """
    rng = random.Random(seed)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES=str(lines))
        os.execv(GUILDHALL[0], [*GUILDHALL, "play", *words])
    shown, fresh, questions = b"", b"", 0
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
        fresh += data
        if fresh.endswith(b" > "):
            text = ESCAPES.sub("", fresh.decode(errors="replace"))
            question = text[text.rfind("\r\n\r\n") :]
            keys = re.findall(r"^ +(\d+)  ", question, re.MULTILINE)
            given = answer(question, questions) if answer else ""
            os.write(terminal, f"{given or rng.choice(keys)}\n".encode())
            fresh = b""
            questions += 1
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = ESCAPES.sub("", shown.decode(errors="replace")).replace("\r", "")
    return Screen(text, os.waitstatus_to_exitcode(status), questions)
