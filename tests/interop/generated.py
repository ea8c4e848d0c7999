"""Modules that stock grpcio generates from this repository's `.proto`: `messages` and `calls`."""

import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

_ROOT = Path(__file__).resolve().parents[2] / "proto/contract"

with tempfile.TemporaryDirectory() as _folder:
    _options = [f"--proto_path={_ROOT}", f"--python_out={_folder}", f"--grpc_python_out={_folder}"]
    _protos = ["netdiv/v1/sut_node.proto", "netdiv/v1/evidence.proto"]
    if protoc.main(["protoc", *_options, *_protos]) != 0:
        sys.exit("protoc does not compile the .proto")
    sys.path.insert(0, _folder)
    from netdiv.v1 import sut_node_pb2 as messages
    from netdiv.v1 import sut_node_pb2_grpc as calls

    sys.path.remove(_folder)

# By default grpcio rejects messages longer than 4 MiB.
_LONGEST = 65 << 20
LONG_MESSAGES = [
    ("grpc.max_send_message_length", _LONGEST),
    ("grpc.max_receive_message_length", _LONGEST),
]

SESSION_HEADER = "netdiv-session"
