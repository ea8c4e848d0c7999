"""From the data sets of MLPerf Inference in their public form to samples that `loadgen-node run` takes."""
