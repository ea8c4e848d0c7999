# Two commands do everything: `make demo` runs LoadGen against two nodes, `make test` passes the tests.
# Needed: a Rust toolchain, g++, make, and python3 with pip and venv (pip fetches LoadGen's sources and, for everything but the
# demo, libtorch; for the tests grpcio and Triton; each once).

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Where deploy/data/prepare keeps its Python packages.
export NETDIV_DATA_PYTHON ?= $(abspath $(TARGET))/data

# `make LOADGEN=6.0.10` and every other target with it: another pinned release of LoadGen, of another round.
ifdef LOADGEN
export NETDIV_LOADGEN_RELEASE := $(LOADGEN)
endif

.PHONY: build libtorch demo test lint bench bench-cores bench-compare compatibility testbed rehearsal soak overload engines fuzz memcheck deny advisories digits sorting models language-model fixtures bench-language-model

# Libraries too: the engine plug-in torch is one.
build: libtorch
	$(CARGO) build --release --workspace --lib --bins --locked

# A small libtorch for CPUs, or a link to $LIBTORCH; .cargo/config.toml names the same place.
libtorch:
	python3 sut-node/engine-torch/libtorch.py target/libtorch

# The two programs, and the tool that the demo compares them with: no libtorch, no tests.
demo:
	$(CARGO) build --release -p sut-node-program -p loadgen-node -p netdiv-tools --no-default-features \
		--bin sut-node --bin loadgen-node --bin without-network --locked
	deploy/demo.sh

# End-to-end tests that depend on the transport: they run over gRPC with all others, and once more over QUIC.
OVER_QUIC := wire:: faults:: failure:: node_faults:: crowds:: tokens:: rules::
# The programs and the tests are built together: the tests' dependencies have more features than the programs need, and a crate
# for both is built once. The end-to-end tests start the programs.
# Most of a test is waiting.
test: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
test: libtorch $(TARGET)/interop/made $(TARGET)/triton/made $(TARGET)/data/made $(TARGET)/engine/made
	$(DATA_TEST)
	$(KIT_TEST)
	$(ENGINE_TEST)
	$(RESULTS_TEST)
	$(CARGO) build --release --workspace --lib --bins --tests --locked
	$(CARGO) test --release --workspace --locked
	NETDIV_TEST_TRANSPORT=quic $(CARGO) test --release --workspace --locked --test all -- $(OVER_QUIC)

# Python with stock grpcio, which has to get on with both programs.
$(TARGET)/interop/made: tests/interop/requirements.txt
	python3 -m venv --clear $(TARGET)/interop
	$(TARGET)/interop/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# Python with NumPy and onnxruntime, which runs engines in Python.
$(TARGET)/engine/made: tests/python/requirements.txt
	python3 -m venv --clear $(TARGET)/engine
	$(TARGET)/engine/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The packages netdiv-engine and netdiv-results as wheels, in $(TARGET)/wheel.
.PHONY: wheel
wheel: $(TARGET)/engine/made
	$(TARGET)/engine/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(TARGET)/wheel python/netdiv-engine python/netdiv-results

# Packages that prepare data sets.
$(TARGET)/data/made: deploy/data/requirements.txt
	NETDIV_DATA_PYTHON=$(abspath $(TARGET))/data deploy/data/prepare --help >/dev/null
	touch $@

# Data sets in their public form, small, beside what the reference makes of them.
DATA_TEST := $(TARGET)/data/bin/python -m unittest discover --quiet --start-directory tests/data --pattern '*_test.py'

# The GPU kit's clocks and reports; of its packages it needs numpy alone.
KIT_TEST := $(TARGET)/data/bin/python -m unittest discover --quiet --start-directory tests/gpu-kit --pattern '*_test.py'

# The package netdiv-engine.
ENGINE_TEST := PYTHONPATH=python/netdiv-engine/src $(TARGET)/engine/bin/python -m unittest discover --quiet \
	--start-directory python/netdiv-engine/tests --pattern '*_test.py'

# The package netdiv-results and its notebook in examples/, which makes no plots here: matplotlib is not among the packages.
RESULTS_TEST := PYTHONPATH=python/netdiv-results/src $(TARGET)/data/bin/python -m unittest discover --quiet \
	--start-directory python/netdiv-results/tests --pattern '*_test.py'

# Says again what that is, with the reference's own code: MLCOMMONS is a checkout of mlcommons/inference, tag v5.0.1.
.PHONY: data-reference
data-reference: $(TARGET)/data-reference/made
	$(TARGET)/data-reference/bin/python tests/data/reference.py $(MLCOMMONS)
	git diff --exit-code tests/data/expected.json

$(TARGET)/data-reference/made: deploy/data/requirements.txt tests/data/requirements.txt
	python3 -m venv --clear $(TARGET)/data-reference
	$(TARGET)/data-reference/bin/pip install --quiet --disable-pip-version-check --timeout 300 -r tests/data/requirements.txt
	touch $@

# Triton's server, and the backend of the tests' models.
$(TARGET)/triton/made: tests/engines/triton.py tests/engines/triton/backend.cc
	python3 tests/engines/triton.py $(TARGET)/triton
	touch $@

lint: libtorch
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings
	$(CARGO) check --release -p netdiv-rules --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps --locked
	python3 -m unittest discover --quiet --start-directory tests/house --pattern '*_test.py'
	python3 -m unittest discover --quiet --start-directory tests/rehearsal --pattern '*_test.py'
	python3 -m unittest discover --quiet --start-directory tests/published --pattern '*_test.py'
	python3 tests/house/circles.py
	python3 tests/house/drawing.py
	python3 tests/house/openings.py
	python3 tests/house/type_names.py
	python3 tests/house/words.py
	python3 tests/house/size.py --ceiling

# Writes docs/generated/benchmarks*.md, and measures the parts alone.
RUNS ?= 5
bench: build $(TARGET)/aiohttp/made $(TARGET)/engine/made
	$(TARGET)/release/bench $(RUNS) docs/generated
	$(CARGO) bench -p netdiv-contract --features wire --locked

# Throughput by the number of I/O threads, up to the cores of this machine; PROGRAMS has programs that are built already.
bench-cores: $(if $(PROGRAMS),,build)
	$(or $(PROGRAMS),$(TARGET)/release)/bench cores $(RUNS)

# Python's aiohttp, with which the engine openai is compared.
$(TARGET)/aiohttp/made: tests/bench/requirements.txt
	python3 -m venv --clear $(TARGET)/aiohttp
	$(TARGET)/aiohttp/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# Another build: BASE is a git reference, or the folder of a checkout that is built.
BASE ?= main
SET_BASE = base=$(BASE); if ! [ -d "$$base" ]; then \
		base=$(abspath $(TARGET))/compare/$$(git rev-parse --short "$(BASE)") && git worktree prune && \
		{ [ -d "$$base" ] || git worktree add --detach "$$base" "$(BASE)"; } && \
		(cd "$$base" && unset CARGO_TARGET_DIR && $(CARGO) build --release --bins --locked) || exit 1; \
	fi; base=$$(realpath "$$base")/target/release

# Measures BASE and this build in turn, ROUNDS times.
ROUNDS ?= 10
bench-compare: build
	$(SET_BASE); $(TARGET)/release/bench compare "$$base" $(ROUNDS)

# Runs each program of BASE with the other one of this build.
compatibility: build
	$(SET_BASE); for transport in grpc quic; do for other in SUT_NODE=sut-node LOADGEN_NODE=loadgen-node; do \
		env NETDIV_TEST_TRANSPORT=$$transport "NETDIV_TEST_$${other%=*}=$$base/$${other#*=}" \
			$(CARGO) test --release --workspace --locked --test all -- releases:: || exit 1; \
	done; done

# Faults between hosts, on this machine, and file systems without room; docs/BENCHMARKING.md says what it needs.
testbed: build
	BIN=$(TARGET)/release tests/testbed/faults.sh
	BIN=$(TARGET)/release tests/testbed/exhausted.sh

# A whole submission on this machine, of two nodes, up to the official checkers of MLCOMMONS, a clone of mlcommons/inference with its tags;
# as root, with iproute2. ROUND and DIVISION choose which: of v5.0 ResNet50 with torch, of later rounds MODELS, any of llama2-70b,
# gpt-oss-120b and whisper, with stand-ins for their engines. PROGRAMS has programs with the LoadGen of the round that are built already. For
# ResNet50, PYTHON is one with torch, torchvision and Pillow, MLCOMMONS is a checkout of tag v5.0.1, and BUILD=1 builds the sources in the
# tree too.
ROUND ?= v5.0
DIVISION ?= network
MODELS ?= llama2-70b
LOADGEN_OF_v5.0 := 5.0.13
LOADGEN_OF_v5.1 := 5.0.22
LOADGEN_OF_v6.0 := 6.0.10
LOADGEN_OF_v6.1 := 6.0.17
REHEARSAL := out/rehearsal-$(ROUND)-$(DIVISION)
.PHONY: rehearsal-v5.0 rehearsal-language
rehearsal: export NETDIV_LOADGEN_RELEASE = $(or $(LOADGEN),$(LOADGEN_OF_$(ROUND)),$(error ROUND=$(ROUND): write v5.0, v5.1, v6.0 or v6.1))
rehearsal: export BIN = $(abspath $(or $(PROGRAMS),$(TARGET)/release))
rehearsal: needs-mlcommons $(if $(PROGRAMS),,build) $(TARGET)/data/made
	python3 -m unittest discover --quiet --start-directory tests/rehearsal --pattern '*_test.py'
	rm -rf $(REHEARSAL)
	$(MAKE) $(if $(filter v5.0,$(ROUND)),rehearsal-v5.0,rehearsal-language)

.PHONY: needs-mlcommons
needs-mlcommons:
	$(if $(MLCOMMONS),,$(error MLCOMMONS is not set: give MLCOMMONS=CLONE, a clone of mlcommons/inference))@:

rehearsal-v5.0 rehearsal-language: export CHECKER_PYTHON = $(abspath $(TARGET))/checker/bin/python
rehearsal-v5.0: libtorch $(TARGET)/checker/made $(if $(PYTHON),,$(TARGET)/models-venv/made)
	PYTHON=$(or $(PYTHON),$(TARGET)/models-venv/bin/python) BUILD=$(BUILD) DIVISION=$(DIVISION) LIBTORCH=$(abspath target/libtorch) \
		tests/rehearsal/rehearse.sh "$(REHEARSAL)" "$(MLCOMMONS)"

rehearsal-language: $(TARGET)/checker/made
	tests/rehearsal/language.sh "$(REHEARSAL)" "$(MLCOMMONS)" "$(ROUND)" "$(DIVISION)" $(MODELS)

# What the official checkers import.
$(TARGET)/checker/made: tests/rehearsal/requirements.txt
	python3 -m venv --clear $(TARGET)/checker
	$(TARGET)/checker/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# What `check` finds in published submissions: TREES are folders with divisions, or submitters' folders in them; MISSING is a file that
# names what the copies lack. PROGRAMS has programs that are built already.
.PHONY: published
published: $(if $(PROGRAMS),,build)
	python3 tests/published/published.py $(or $(PROGRAMS),$(TARGET)/release)/loadgen-node $(TREES) $(if $(MISSING),--missing $(MISSING))

# Runs with random faults, one after the other, for MINUTES; the same SEED makes the same faults. With WRITE=1 what it
# shows goes into docs/generated/.
SEED ?= 1
soak: build
	$(TARGET)/release/soak $(MINUTES) $(SEED) $(if $(WRITE),--write docs/generated/soak.md)

# Peak memory under more than the nodes can do; WRITE as above. LARGEST=1 adds a query of 10^8 samples (6 GB).
overload: build
	$(TARGET)/release/overload $(if $(LARGEST),--largest) $(if $(WRITE),--write docs/generated/overload.md)

# Serving engines that run, behind a node; no part of `make test`, because it fetches 3 GB.
ENGINES := $(abspath $(TARGET))/engines
engines: build $(ENGINES)/made
	$(ENGINES)/python/bin/python -P tests/engines/run.py $(ENGINES) $(TARGET)/release out/engines

$(ENGINES)/made: $(addprefix tests/engines/,install.sh torch_without_cuda.py python.txt llama.txt model.py)
	tests/engines/install.sh $(ENGINES)
	$(ENGINES)/python/bin/python -P tests/engines/model.py $(ENGINES)/model
	touch $@

# Everything that reads what others wrote, under libFuzzer, for MINUTES each; findings are kept in its corpus.
MINUTES ?= 1
# Named, so that build scripts are not instrumented.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_TARGETS := $(notdir $(wildcard tests/fuzz/corpus/*))
fuzz:
	cd tests/fuzz/libfuzzer && RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
		-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
		-Cllvm-args=-sanitizer-coverage-trace-compares" $(CARGO) build --release --target $(HOST) --target-dir $(abspath $(TARGET))/fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p $(TARGET)/fuzz/found/$$target; \
		FUZZ_TARGET=$$target $(TARGET)/fuzz/$(HOST)/release/libfuzzer -max_total_time=$$(($(MINUTES) * 60)) -max_len=16384 \
			-artifact_prefix=tests/fuzz/corpus/$$target/ $(TARGET)/fuzz/found/$$target tests/fuzz/corpus/$$target || exit 1; \
	done

# LoadGen and its callers under valgrind: the FFI's own tests and whole runs in every scenario. A few minutes; no part of `make test`.
memcheck: build
	tests/memcheck/run.sh $(TARGET)

# Licences, banned crates and sources (deny.toml), and versions that their authors took back, of both lock files. Cargo's
# index is asked for the latter; crates are fetched before, those of other systems too.
LOCKED := Cargo.toml tests/fuzz/libfuzzer/Cargo.toml
deny: $(TARGET)/deny/made
	for manifest in $(LOCKED); do \
		$(CARGO) fetch --quiet --locked --manifest-path $$manifest && \
		$(TARGET)/deny/bin/cargo-deny --offline --locked --config deny.toml --manifest-path $$manifest \
			check bans licenses sources || exit 1; \
	done
	python3 tests/supply_chain/yanked.py $(LOCKED)

# Known vulnerabilities. The database of RustSec is a repository on GitHub and in no package registry, so this is not
# part of .ci/run.
advisories: $(TARGET)/deny/made
	for manifest in $(LOCKED); do \
		$(TARGET)/deny/bin/cargo-deny --locked --config deny.toml --manifest-path $$manifest check advisories || exit 1; \
	done

$(TARGET)/deny/made: tests/supply_chain/requirements.txt
	python3 -m venv --clear $(TARGET)/deny
	$(TARGET)/deny/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

# docs/ as one book, in $(TARGET)/book.
.PHONY: book
book: $(TARGET)/mdbook/bin/mdbook
	python3 docs/book.py $(TARGET)/book-source
	$< build $(TARGET)/book-source --dest-dir $(abspath $(TARGET))/book

$(TARGET)/mdbook/bin/mdbook:
	$(CARGO) install mdbook --version 0.5.4 --locked --no-default-features --features search --root $(TARGET)/mdbook

# Trains the demo's network again; the result is in the repository.
digits:
	python3 -m venv target/digits-venv
	target/digits-venv/bin/pip install --quiet -r deploy/digits/requirements.txt
	target/digits-venv/bin/python deploy/digits/train.py --output deploy/digits

# Trains the demo's language model again; the result is in the repository.
sorting:
	python3 -m venv target/sorting-venv
	target/sorting-venv/bin/pip install --quiet -r deploy/sorting/requirements.txt
	target/sorting-venv/bin/python deploy/sorting/train.py --output deploy/sorting

# The networks of MLPerf as TorchScript files with manifests, in $(TARGET)/models, with random weights; DLRM's tables are
# cut to ROWS rows. Needs Python 3.11 or newer; the packages (PyTorch) are a download of 2.7 GB, once.
ROWS ?= 1000
PRECISION ?= fp32
models: $(TARGET)/models-venv/made
	$(TARGET)/models-venv/bin/python deploy/models/export.py all --rows $(ROWS) --precision $(PRECISION) --output $(TARGET)/models

# A language model as a TorchScript file with its manifest, in $(TARGET)/models: MODEL is a folder with Hugging Face's config.json
# and weights, or a config.json alone, for random weights.
MODEL ?= deploy/models/configurations/llama3.2-1b.json
language-model: $(TARGET)/models-venv/made
	$(TARGET)/models-venv/bin/python deploy/models/export_language_model.py $(MODEL) --precision $(PRECISION) --output $(TARGET)/models

# Makes tests/models again; the result is in the repository.
fixtures: $(TARGET)/fixtures-venv/made
	PYTHONPATH=deploy/models $(TARGET)/fixtures-venv/bin/python -m unittest discover --quiet --start-directory tests/models --pattern '*_test.py'
	PYTHONPATH=deploy/models $(TARGET)/fixtures-venv/bin/python tests/models/fixtures.py

# The plug-in's language models on this machine's CPU: beside transformers and a bare loop in C++, then what the node and the
# network add; minutes. PROGRAMS has programs that are built already, PYTHON is one with torch and transformers.
BENCH_PYTHON = $(or $(PYTHON),$(TARGET)/fixtures-venv/bin/python)
BENCH_PROGRAMS = $(or $(PROGRAMS),$(TARGET)/release)
bench-language-model: $(if $(PROGRAMS),,build) $(if $(PYTHON),,$(TARGET)/fixtures-venv/made)
	PYTHONPATH=deploy/models $(BENCH_PYTHON) tests/models/bench.py $(BENCH_PROGRAMS)/libnetdiv_engine_torch.so
	PYTHONPATH=deploy/models $(BENCH_PYTHON) tests/models/bench_network.py $(BENCH_PROGRAMS) --plugin-header sut-node/plugin/include

$(TARGET)/fixtures-venv/made: tests/models/requirements.txt deploy/models/requirements.txt deploy/models/requirements-stable-diffusion.txt
	python3 -m venv --clear $(TARGET)/fixtures-venv
	$(TARGET)/fixtures-venv/bin/pip install --quiet --disable-pip-version-check --timeout 300 -r $<
	touch $@

$(TARGET)/models-venv/made: deploy/models/requirements.txt
	python3 -m venv --clear $(TARGET)/models-venv
	$(TARGET)/models-venv/bin/pip install --quiet --disable-pip-version-check --timeout 300 -r $<
	touch $@

# What a GPU has to show, in one archive (docs/BENCHMARKING.md); PROGRAMS as above.
.PHONY: gpu-kit gpu-kit-test
GPU_KIT := $(TARGET)/gpu-kit.tar.gz
gpu-kit: $(if $(PROGRAMS),,build)
	deploy/gpu-kit/pack.sh $(or $(PROGRAMS),$(TARGET)/release) $(GPU_KIT)

# Packages, which AOTInductor compiles here, in the plug-in and in a node without compiler and Python; PYTHON and PROGRAMS as below.
# The compiler's cache in $(TARGET)/packages makes it faster the second time.
.PHONY: packages-test
packages-test: libtorch $(if $(PROGRAMS),,build) $(if $(PYTHON),,$(TARGET)/models-venv/made)
	mkdir -p $(TARGET)/packages
	PROGRAMS=$(or $(PROGRAMS),$(TARGET)/release) FOLDER=$(TARGET)/packages LIBTORCH=$(abspath target/libtorch) \
		PYTHONPATH=deploy/models:tests/models $(or $(PYTHON),$(TARGET)/models-venv/bin/python) -m unittest discover --quiet \
		--start-directory tests/packages --pattern '*_test.py'

# Launches of a compiled decoder; then the kit as it is unpacked elsewhere, every step on tiny networks on the CPU. PYTHON is one with
# torch; no part of `make test`, because torch is a download of 2.7 GB. STEPS is a group or a step.
STEPS ?= all
gpu-kit-test: gpu-kit packages-test $(if $(PYTHON),,$(TARGET)/models-venv/made)
	PYTHONPATH=deploy/models $(or $(PYTHON),$(TARGET)/models-venv/bin/python) tests/gpu-kit/launches.py
	rm -rf $(TARGET)/gpu-kit && mkdir $(TARGET)/gpu-kit && tar -C $(TARGET)/gpu-kit -xf $(GPU_KIT)
	PYTHON=$(or $(PYTHON),$(abspath $(TARGET))/models-venv/bin/python) $(TARGET)/gpu-kit/gpu-kit/run.sh $(STEPS) \
		--device cpu --small --output $(TARGET)/gpu-kit/report

# Everything of deploy/ with the real tools: Slurm, DNS, Kubernetes' schemas, containers, systemd, Prometheus, MLCFlow. As root on Debian 12;
# it installs what it needs with apt. STEPS="slurm dns" selects; PROGRAMS as above.
.PHONY: deploy-test
deploy-test: STEPS :=
deploy-test: $(if $(PROGRAMS),,build)
	BIN=$(or $(PROGRAMS),$(TARGET)/release) tests/deploy/run.sh $(STEPS)

# Pages of reports in a real browser. As root on Debian 12; it installs chromium with apt and playwright-core with npm.
.PHONY: report-test
report-test: $(if $(PROGRAMS),,build)
	BIN=$(or $(PROGRAMS),$(TARGET)/release) tests/browser/report.sh

# The pictures of sweeps and of a report in README and docs.
.PHONY: pictures
pictures: $(if $(PROGRAMS),,build)
	BIN=$(or $(PROGRAMS),$(TARGET)/release) tests/browser/pictures.sh

# The Debian package of both programs, in $(TARGET)/deb; PROGRAMS has programs that are built already.
.PHONY: deb
deb: $(if $(PROGRAMS),,build)
	deploy/debian/build.sh $(or $(PROGRAMS),$(TARGET)/release) $(TARGET)/deb

# A release in RELEASE: tarball, Debian package, wheels, images, SBOM, checksums, for glibc 2.28 and later. As root on Debian 12, with the
# packages binutils, buildah, dpkg-dev and mmdebstrap. `release-compare` makes it a second time in another folder, and compares both.
RELEASE ?= out/release
RELEASE_WORK := $(TARGET)/release-build
.PHONY: release release-compare
release: $(RELEASE_WORK)/cyclonedx/bin/cargo-cyclonedx
	deploy/release/release.sh $(RELEASE_WORK) $(RELEASE)

release-compare:
	CYCLONEDX=$(RELEASE_WORK)/cyclonedx deploy/release/compare.sh $(TARGET)/release-compare $(RELEASE)

$(RELEASE_WORK)/cyclonedx/bin/cargo-cyclonedx:
	$(CARGO) install cargo-cyclonedx --version 0.5.9 --locked --root $(RELEASE_WORK)/cyclonedx
