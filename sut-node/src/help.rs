//! Examples and exit codes of the program and its commands, as `--help` shows them.

pub(crate) const PROGRAM: &str = "\
Examples:\n\
\x20 sut-node --engine decoder --model sorting\n\
\x20 sut-node --config node.toml --listen 0.0.0.0:50051\n\
\x20 sut-node --config node.toml --check\n\
\n\
Exit codes:\n\
\x20 0  ended after a signal, or --check found no fault\n\
\x20 1  a device was lost, a second signal arrived, or one before the node was ready\n\
\x20 2  invalid settings or files\n\
\x20 3  the node failed later";

pub(crate) const DEVICES: &str = "\
Examples:\n\
\x20 sut-node devices\n\
\x20 sut-node devices --engine ./engine.so\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  the engine cannot be loaded";

pub(crate) const HEALTH: &str = "\
Examples:\n\
\x20 sut-node health --config node.toml\n\
\x20 sut-node health --metrics 127.0.0.1:9400\n\
\n\
Exit codes:\n\
\x20 0  the node is ready to serve\n\
\x20 1  the node is not ready\n\
\x20 2  invalid settings or files";

pub(crate) const DOCTOR: &str = "\
Examples:\n\
\x20 sut-node doctor --config node.toml\n\
\x20 sut-node doctor --listen 0.0.0.0:50051 --insecure --fail-on warning\n\
\n\
Exit codes:\n\
\x20 0  no problem\n\
\x20 1  there is a problem, or a finding that --fail-on names\n\
\x20 2  invalid settings or files\n\
\x20 3  the report cannot be written";

pub(crate) const BENCH: &str = "\
Examples:\n\
\x20 sut-node bench --engine decoder --model sorting --dataset sorting\n\
\x20 sut-node bench --config node.toml --dataset imagenet.npy --seconds 30\n\
\n\
Exit codes:\n\
\x20 0  measured\n\
\x20 2  invalid settings or files";
