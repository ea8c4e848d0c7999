"""Stock gRPC client of a node that returns each sample's bytes.

The node is `sut-node --engine echo --echo-answer-bytes 0`. If a response violates the `.proto`, the
program ends with an error message and exit code 1.
"""

import queue
import random
import sys

import grpc

from generated import LONG_MESSAGES, SESSION_HEADER, calls, messages

NONCE = 0xFEDC_BA98_7654_3210
SESSION = "python-client"
SHORT, LONG = (300, 64), (20, 1_000_000)
FIRST_ID, ODD_ID = 0x8000_0000_0000_0000, 7
UNKNOWN_ENCODING = 9
PATIENCE_S = 60

# By default grpcio uses a proxy from the environment, even for the loopback interface.
NO_PROXY = [("grpc.enable_http_proxy", 0)]


def require(condition: bool, sentence: str) -> None:
    """Ends the program with a message unless the condition holds."""
    if not condition:
        sys.exit(sentence)


def samples() -> dict[int, bytes]:
    """Returns payloads by id, long and short ones mixed, each of different random bytes."""
    lengths = [length for count, length in (SHORT, LONG) for _ in range(count)]
    chance = random.Random(1)
    chance.shuffle(lengths)
    return {FIRST_ID + n: chance.randbytes(length) for n, length in enumerate(lengths)}


def describe(node: calls.SutNodeStub) -> None:
    """Checks that the node describes itself, in response to this call."""
    request = messages.DescribeRequest(protocol_version=2, nonce=NONCE)
    answer = node.Describe(request, timeout=PATIENCE_S)
    require(answer.nonce == NONCE, f"Describe returns the nonce {answer.nonce}, not {NONCE}.")
    require(answer.protocol_version == 2, f"The node speaks version {answer.protocol_version}.")
    require(answer.engine == "echo", f"The node's engine is {answer.engine}, not echo.")


def check(reply: messages.InferResponse, waiting: dict[int, bytes]) -> None:
    """Checks a reply, and removes its sample."""
    require(reply.id in waiting, f"Id {reply.id} was answered twice, or was never sent.")
    payload = waiting.pop(reply.id)
    if reply.id == ODD_ID:
        status = messages.Status.Name(reply.status)
        require(status == "STATUS_BAD_SAMPLE", f"An unknown encoding has the status {status}.")
        require(reply.error != "", "An unknown encoding is rejected without a reason.")
        return
    require(reply.status == messages.STATUS_OK, f"Id {reply.id} failed: {reply.error}")
    require(reply.encoding == messages.ENCODING_NONE, f"The response to id {reply.id} is encoded.")
    require(reply.payload == payload, f"The response to id {reply.id} differs from its payload.")
    require(reply.batch_size > 0, f"Id {reply.id} has an empty batch.")


def main(address: str) -> None:
    """Calls Describe, Infer and Flush, as a run does."""
    with grpc.insecure_channel(address, options=LONG_MESSAGES + NO_PROXY) as channel:
        node = calls.SutNodeStub(channel)
        describe(node)

        waiting = samples()
        requests = [messages.InferRequest(id=n, payload=payload) for n, payload in waiting.items()]
        # In the middle, so that the stream must continue after it.
        odd = messages.InferRequest(id=ODD_ID, encoding=UNKNOWN_ENCODING, payload=b"?")
        requests.insert(len(requests) // 2, odd)
        waiting[ODD_ID] = b""

        # The stream stays open until `None` ends it, since a flush requires a session with an open stream.
        sending = queue.SimpleQueue()
        for request in requests:
            sending.put(request)
        headers = [(SESSION_HEADER, SESSION)]
        replies = node.Infer(iter(sending.get, None), metadata=headers, timeout=PATIENCE_S)
        for _ in requests:
            reply = next(replies, None)
            require(reply is not None, f"The stream ended with {len(waiting)} samples unanswered.")
            check(reply, waiting)

        flush = messages.FlushRequest(session=SESSION, samples_sent=len(requests))
        received = node.Flush(flush, timeout=PATIENCE_S).samples_received
        require(received == len(requests), f"Flush counts {received} samples, not {len(requests)}.")

        sending.put(None)
        require(next(replies, None) is None, "The node sent too many replies.")
        require(replies.code() == grpc.StatusCode.OK, f"The stream ended with {replies.code()}.")
        print(f"{len(requests)} samples were sent, and each was answered once.")


if __name__ == "__main__":
    require(len(sys.argv) == 2, "Pass the node's address, HOST:PORT.")
    try:
        main(sys.argv[1])
    except grpc.RpcError as error:
        sys.exit(f"A call failed with {error.code()}: {error.details()}")
