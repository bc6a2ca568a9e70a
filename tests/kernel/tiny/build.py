"""Generates the tiny game's wire code into a temporary directory, as the build does for real games.

Its services are those of a real game under its own name: services are the same for every game.
"""

import atexit
import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import google.rpc.status_pb2

ROOT = Path(__file__).resolve().parents[3]
PROTO = Path(__file__).parent / "proto"
COMMON_PROTOS = Path(google.rpc.status_pb2.__file__).parents[2]
LIKE = "arcane_alley"
SERVICES = ("rules_service", "view_service")


def _generate() -> Any:
    out = Path(tempfile.mkdtemp(prefix="guildhall-tiny-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    image = out / "tiny.binpb"
    services = out / "proto"
    _write_services(services / "guildhall" / "tiny" / "v1")
    paths = [f"--proto_path={path}" for path in (PROTO, services, ROOT / "proto", COMMON_PROTOS)]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", *paths]
    options = [f"--descriptor_set_out={image}", "--include_imports", "--include_source_info", f"--python_out={out}"]
    files = [f"guildhall/tiny/v1/{name}.proto" for name in ("tiny", *SERVICES)]
    subprocess.run([*protoc, *options, *files], check=True)
    subprocess.run([sys.executable, str(ROOT / "tools" / "structgen.py"), str(image), str(out)], check=True)
    shutil.rmtree(out / "guildhall" / "kernel", ignore_errors=True)
    sys.path.append(str(out))
    importlib.invalidate_caches()
    return importlib.import_module("guildhall.tiny.v1.structs")


def _write_services(folder: Path) -> None:
    """Real services' files, with the tiny game's name and its one file in place of a real game's several."""
    folder.mkdir(parents=True)
    for name in SERVICES:
        text = (ROOT / "proto" / "guildhall" / LIKE / "v1" / f"{name}.proto").read_text(encoding="utf-8")
        for part in ("command", "event", "view"):
            text = text.replace(f'import "guildhall/{LIKE}/v1/{part}.proto";\n', "")
        text = text.replace(LIKE, "tiny")
        (folder / f"{name}.proto").write_text(
            text.replace("\nimport ", '\nimport "guildhall/tiny/v1/tiny.proto";\nimport ', 1), encoding="utf-8"
        )


structs: Any = _generate()
