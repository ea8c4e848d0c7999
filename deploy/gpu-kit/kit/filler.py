"""Fills a GPU's memory, except for a number of MiB, until standard input ends. Prints the MiB that it holds.

    python -m kit.filler cuda:0 3000

On a CPU it holds no memory.
"""

import sys

import torch

PIECE = 64 << 20  # bytes


def main() -> None:
    device, leave = sys.argv[1], int(sys.argv[2]) << 20
    held = []
    if device.startswith("cuda"):
        while torch.cuda.mem_get_info(device)[0] > leave + PIECE:
            held.append(torch.zeros(PIECE, dtype=torch.uint8, device=device))
        torch.cuda.synchronize(device)
    print(len(held) * PIECE >> 20, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
