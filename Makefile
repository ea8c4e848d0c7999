# Two commands do everything: `make demo` runs LoadGen against two nodes, `make test` passes the tests.
# Needed: a Rust toolchain, g++, make, and python3 with pip (it fetches LoadGen's sources, once).

CARGO ?= cargo

.PHONY: build demo test lint bench digits

build:
	$(CARGO) build --release --workspace --bins --locked

demo: build
	deploy/demo.sh

# The end-to-end tests start the programs themselves, so these are built first.
test: build
	$(CARGO) test --release --workspace --locked

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --locked

bench: build
	$${CARGO_TARGET_DIR:-target}/release/bench $(RUNS)

# Trains the demo's network again; the result is in the repository.
digits:
	python3 -m venv target/digits-venv
	target/digits-venv/bin/pip install --quiet -r deploy/digits/requirements.txt
	target/digits-venv/bin/python deploy/digits/train.py --output deploy/digits
