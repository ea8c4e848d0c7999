"""The GPU kit: steps that show on a GPU what no machine without one can."""
