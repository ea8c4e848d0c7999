"""Converts the data sets of MLPerf Inference from their public form to samples that `loadgen-node run` reads."""
