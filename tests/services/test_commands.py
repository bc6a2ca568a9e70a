"""`guildhall serve` and `guildhall token`, as a person types them."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from guildhall.host.hall import LOG_FILE
from guildhall.rpc.identity import KEY_FILE
from services.arcane_alley.rules import RULES
from tests.services.hall import Client, failure, hall

GUILDHALL = [sys.executable, "-c", "from guildhall.cli.main import main; main()"]


def guildhall(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GUILDHALL, *arguments], capture_output=True, text=True, timeout=60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_serve_says_what_to_do_next_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "hall"
    command = [*GUILDHALL, "serve", "all", "--port", str(port), "--data", str(data), "--log-format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] and "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
        said = "".join(lines)
        missing = [
            part
            for part in (f"127.0.0.1:{port}", LOG_FILE, KEY_FILE, "play arcane-alley", "play trickerion", "Ctrl-C")
            if part not in said
        ]
        if missing:
            process.kill()
        assert not missing, said
        token = guildhall("token", "--subject", "alice", "--data", str(data))
        assert token.returncode == 0, token.stderr
        async with Client(port, data, "alice", rules=RULES, token=token.stdout.strip()) as client:
            game_id = await client.create(("alice", "bob"))
            assert (await client.view(game_id)).game.version >= 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_a_hall_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        failed = guildhall("serve", "all", "--port", str(port), "--data", str(tmp_path))
    assert failed.returncode == 1 and str(port) in failed.stderr and "Traceback" not in failed.stderr
    (tmp_path / LOG_FILE).write_bytes(b"no log" * 1000)
    failed = guildhall("serve", "all", "--port", "0", "--data", str(tmp_path))
    assert failed.returncode == 1 and LOG_FILE in failed.stderr and "Traceback" not in failed.stderr
    (tmp_path / KEY_FILE).write_text("no key")
    failed = guildhall("serve", "all", "--port", "0", "--data", str(tmp_path))
    assert failed.returncode == 1 and KEY_FILE in failed.stderr and "Traceback" not in failed.stderr


def test_tokens_that_cannot_be_made(tmp_path: Path) -> None:
    missing = guildhall("token", "--subject", "alice", "--data", str(tmp_path))
    assert missing.returncode == 1 and KEY_FILE in missing.stderr
    for arguments in (("--ttl", "soon"), ("--ttl", "5"), ("--ttl", "-1h")):
        wrong = guildhall("token", "--subject", "alice", "--data", str(tmp_path), *arguments)
        assert wrong.returncode == 2 and "duration" in wrong.stderr


async def test_a_token_has_the_scopes_that_were_asked_for(tmp_path: Path) -> None:

    async with hall(tmp_path) as running:
        minted = guildhall("token", "--subject", "alice", "--scope", "play", "--ttl", "1h", "--data", str(tmp_path))
        async with Client(running.port, tmp_path, "alice", token=minted.stdout.strip()) as client:
            assert (await failure(client.create()))[2] == {"scope": "seat"}
        wrong = guildhall("token", "--subject", "alice", "--scope", "rule", "--data", str(tmp_path))
        assert wrong.returncode == 2 and "scope" in wrong.stderr
