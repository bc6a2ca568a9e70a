"""The `guildhall` command."""

import os

# Looked at when gRPC is imported; else it tells whoever starts a hall that it has threads.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
