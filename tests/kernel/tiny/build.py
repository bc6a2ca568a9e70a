"""Generates the tiny game's wire code into a temporary directory, as the build does for real games."""

import atexit
import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PROTO = Path(__file__).parent / "proto"


def _generate() -> Any:
    out = Path(tempfile.mkdtemp(prefix="guildhall-tiny-"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    image = out / "tiny.binpb"
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", f"--proto_path={ROOT / 'proto'}"]
    options = [f"--descriptor_set_out={image}", "--include_imports", "--include_source_info", f"--python_out={out}"]
    subprocess.run([*protoc, *options, "guildhall/tiny/v1/tiny.proto"], check=True)
    subprocess.run([sys.executable, str(ROOT / "tools" / "structgen.py"), str(image), str(out)], check=True)
    shutil.rmtree(out / "guildhall" / "kernel", ignore_errors=True)
    sys.path.append(str(out))
    importlib.invalidate_caches()
    return importlib.import_module("guildhall.tiny.v1.structs")


structs: Any = _generate()
