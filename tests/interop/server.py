"""Stock gRPC server of the service `SutNode`: returns the first eight bytes of each sample.

Prints its address, and serves until it is killed.
"""

import threading
from collections import Counter
from concurrent import futures

import grpc

from generated import LONG_MESSAGES, SESSION_HEADER, calls, messages

# Each open stream and each call occupies a thread.
THREADS = 32
PATIENCE_S = 60

# An idle LoadGen node pings every second. Without this option, grpcio closes a connection on which it
# has sent nothing for four seconds, with "Too many pings".
PINGS = [("grpc.http2.min_ping_interval_without_data_ms", 500)]


class Node(calls.SutNodeServicer):
    """Node without a model."""

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()
        self.more = threading.Condition()

    def Describe(self, request, context):
        """Describes this node."""
        return messages.DescribeResponse(
            nonce=request.nonce,
            protocol_version=2,
            node_name="python",
            software_version=grpc.__version__,
            engine="python",
            model_name="none",
            input=messages.InputLayout(),
            encodings=[messages.ENCODING_NONE],
            max_payload_bytes=64 << 20,
            max_in_flight_samples=64,
            max_in_flight_bytes=64 << 20,
            max_batch=1,
        )

    def Infer(self, requests, context):
        """Answers a stream."""
        session = dict(context.invocation_metadata()).get(SESSION_HEADER, "")
        for request in requests:
            with self.more:
                self.received[session] += 1
                self.more.notify_all()
            yield messages.InferResponse(id=request.id, batch_size=1, payload=request.payload[:8])

    def Flush(self, request, context):
        """Waits for a session's samples, and returns their number."""
        with self.more:
            all_came = self.more.wait_for(
                lambda: self.received[request.session] >= request.samples_sent, PATIENCE_S
            )
            if not all_came:
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "samples are missing")
            return messages.FlushResponse(samples_received=self.received[request.session])


def main() -> None:
    """Serves on a free port of the loopback interface."""
    server = grpc.server(futures.ThreadPoolExecutor(THREADS), options=LONG_MESSAGES + PINGS)
    calls.add_SutNodeServicer_to_server(Node(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
