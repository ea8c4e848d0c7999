"""The GPU kit: steps that test and measure the engines on a GPU."""
