# Everything that a newcomer or a machine needs. A fresh machine needs Python 3.11+, a Rust toolchain and a C compiler.
#
#   make demo     set up, simulate MPTCP over two GEO beams, print tables, write plots
#   make test     set up, run every test and lint
#   make pgo      build it again, guided by a profile: the same results in about a tenth less time
#   make wheel    build a wheel with scenarios, studies and reproductions in it, and try it in a fresh venv
#   make bench    measure the simulator's speed: instructions against the record, then packet-hops per second
#   make reproduce  run the published experiments again, within an hour on two cores
#   make storm    run random scenarios against everything that must hold, until stopped
#   make fuzz     hostile files and packets, guided by coverage, until stopped
#   make validate compare with ns-3 on the same work, three quarters of an hour on two cores (Debian; as root where ns-3 is missing)
#   make validate-sctp  run the real SCTP stack (libusrsctp) over links of the simulator, and compare with its recorded runs
#   make clean    remove everything that was built, and results/

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# The extension is built again when one of these is newer than its stamp.
SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml' -o -name '*.c' -o -name '*.cc' -o -name '*.h') $(wildcard deploy/bpf/*) Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := demo
.PHONY: demo pgo wheel wheel-guided wheel-install test bench count count-update digests digests-update clean build format check-rust test-rust test-example test-webassembly check-python test-python browser tshark usrsctp bpf test-rain reproduce latency validate validate-sctp compare storm storm-disk fuzz fuzz-python

demo: build
	@$(BIN)/ropewalk run scenarios/two-geo-beams.toml --out results/two-geo-beams --plots

build: $(VENV)/.extension

$(VENV)/.requirements: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than Python 3.11; name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

$(VENV)/.extension: $(VENV)/.requirements $(SOURCES)
	@command -v cargo >/dev/null || { echo "cargo not found: a Rust toolchain is needed" >&2; exit 1; }
	@echo "building the simulator (a minute or two the first time)"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet >$@.log 2>&1 || { cat $@.log >&2; exit 1; }
	@$(BIN)/ropewalk schema > scenarios/ropewalk.schema.json
	@touch $@

# Where the compiler comes without rustup, maturin looks for llvm-profdata elsewhere, and says what is missing.
pgo:
	@rustup component add llvm-tools >/dev/null 2>&1 || true
	@rm -f $(VENV)/.extension
	@echo "guided by a profile: built twice, and run in between"
	@MATURIN_PGO=1 CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/pgo $(MAKE) --no-print-directory build
	@echo pgo >$(VENV)/.extension

# Into dist/. wheel-install tries it with libraries from the package index, as a user installs it.
wheel: build
	$(BIN)/python tools/wheel.py build test

wheel-install: wheel
	$(BIN)/python tools/wheel.py install

# The wheel to hand on: the simulator is built twice, and run in between.
wheel-guided: build
	@rustup component add llvm-tools >/dev/null 2>&1 || true
	@echo "guided by a profile: built twice, and run in between"
	@MATURIN_PGO=1 CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/pgo $(BIN)/python tools/wheel.py build test

test: check-rust test-rust test-example test-webassembly check-python test-python wheel count
	@echo "all checks passed"

check-rust:
	@cargo fmt --version >/dev/null 2>&1 \
	  || { echo "rustfmt not found: rustup component add rustfmt" >&2; exit 1; }
	@cargo clippy --version >/dev/null 2>&1 \
	  || { echo "clippy not found: rustup component add clippy" >&2; exit 1; }
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

test-rust: usrsctp
	cargo test --workspace --locked --quiet

# A crate outside the workspace, with the workspace's versions of everything.
EXAMPLE := --manifest-path examples/own-algorithms/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)

test-example:
	cp Cargo.lock examples/own-algorithms/Cargo.lock
	cargo fmt --check --manifest-path examples/own-algorithms/Cargo.toml
	cargo test --quiet $(EXAMPLE)
	cargo run --quiet $(EXAMPLE)

# The laboratory in Node gives the tables of this machine, to the byte.
test-webassembly:
	cargo fmt --check --manifest-path examples/webassembly/Cargo.toml
	$(PYTHON) tools/webassembly.py

check-python: $(VENV)/.requirements
	$(BIN)/ruff check --quiet python tests tools validation examples
	$(BIN)/ruff format --quiet --check python tests tools validation examples
	$(BIN)/mypy
	$(BIN)/python tools/lengths.py
	$(BIN)/python tools/prose.py
	$(BIN)/python tools/requirements.py

test-python: build browser tshark
	$(BIN)/pytest --quiet

# The real SCTP stack, for tests that are skipped without it.
usrsctp:
	@$(PYTHON) tools/usrsctp.py

# Compilers for BPF, for coupled congestion controls on the kernel.
bpf:
	@$(PYTHON) tools/bpf.py

# Chromium and its driver, for the tests of the report.
browser: $(VENV)/.requirements
	@$(BIN)/python tools/browser.py

# tshark, for the tests of captures.
tshark: $(VENV)/.requirements
	@$(BIN)/python tools/tshark.py

# The tests of rain with the models themselves, whose maps are a download of 160 MB, in place of their answers on record.
test-rain: build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-rain.txt
	$(BIN)/pytest --quiet tests/test_rain.py

# Each writes its verdicts into results/NAME, and their counts into its page.
reproduce: build
	@set -e; for about in reproductions/*/reproduction.toml; do \
	  name=$$(basename $$(dirname $$about)); \
	  $(BIN)/ropewalk reproduce $$name; \
	  $(BIN)/python tools/counts.py results/$$name; \
	done

# The three studies of docs/explanation/multipath-for-latency.md, and its tables from their results.
latency: build
	@set -e; for study in studies/multipath-for-*.toml; do $(BIN)/ropewalk study $$study; done
	@$(BIN)/python tools/latency_page.py

# Prints the table and writes docs/explanation/validation.md; finished runs are in results/validation. Other numbers:
# make validate ARGS="--only chain/NewReno/1e-3/1/on --set link.up.both.rate=50Mbit/s"
validate: build
	@$(BIN)/python validation/validate.py $(ARGS)

# The profile `freebsd` beside the real SCTP stack, then that stack over links of the simulator, against recorded runs of it elsewhere;
# finished runs are in results/validation-sctp. The second alone: make validate-sctp ARGS="--only 'equal/*' --seeds 6"
validate-sctp: build usrsctp
	@$(if $(ARGS),,$(BIN)/python validation/sctp_profile.py)
	@$(BIN)/python validation/sctp.py $(ARGS)

# The simulator beside the kernel of this machine, twenty minutes as root: make compare ARGS="k1 k2"
compare: build bpf
	@$(BIN)/python tools/kernel.py $(ARGS)

# First what `make build` makes, even where `make pgo` was last; then what `make pgo` makes, which stays.
bench: count
	@if grep -qs pgo $(VENV)/.extension; then rm $(VENV)/.extension; fi
	@$(MAKE) --no-print-directory build
	$(BIN)/python tools/hops.py
	$(BIN)/python tools/overheads.py
	$(BIN)/python tools/capture_speed.py
	$(BIN)/python validation/speed.py
	@$(MAKE) --no-print-directory pgo
	$(BIN)/python tools/hops.py

# Random whole scenarios, with debug assertions and overflow checks: make storm ARGS="1 1000" runs those of seeds 1 to 1000.
# Scenarios that fail are written to results/storm.
storm:
	ulimit -v 16000000; cargo run --profile storm --locked --quiet -p storm -- $(ARGS)

# Faults of the disk under a study, an hour of them; ROPEWALK_SEED=N for others.
storm-disk: build
	ROPEWALK_ROUNDS=1000 $(BIN)/pytest --quiet tests/test_disk_faults.py

# The passes that libFuzzer needs are those of cargo-fuzz without a sanitizer, which stable Rust has.
SANCOV := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing
FUZZ_TARGETS ?= scenario data packets chunks captures
FUZZ_SECONDS ?= 600
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

# Each target in turn, round after round: make fuzz FUZZ_TARGETS=packets FUZZ_SECONDS=60. Inputs that fail, and those
# that reach new code, are in results/fuzz.
fuzz:
	RUSTFLAGS="$(SANCOV)" cargo build --release --quiet --manifest-path fuzz/Cargo.toml --target $(HOST) \
	  --target-dir $(or $(CARGO_TARGET_DIR),target)/fuzz
	@set -e; while true; do for target in $(FUZZ_TARGETS); do \
	  mkdir -p results/fuzz/$$target; \
	  $(or $(CARGO_TARGET_DIR),target)/fuzz/$(HOST)/release/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 \
	    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=results/fuzz/$$target- \
	    results/fuzz/$$target crates/storm/corpus/$$target; \
	done; done

# Study files, expressions and edited results: random edits, not guided by coverage.
fuzz-python: build
	ROPEWALK_FUZZ=100000 $(BIN)/pytest --quiet tests/test_mutated.py tests/test_import.py

# Instructions of the benchmark scenarios against what is on record; count-update records them anew.
count count-update:
	$(PYTHON) tools/instructions.py $(if $(filter count-update,$@),--update)

# Results of all shipped scenarios, studies and reproductions against what is on record, a quarter of an hour on two cores;
# digests-update records them anew, with a new MODEL_VERSION.
digests digests-update: build
	@mkdir -p $(or $(CARGO_TARGET_DIR),target)
	@$(BIN)/python tools/digests.py $(or $(CARGO_TARGET_DIR),target)/cases.jsonl
	ROPEWALK_CASES=$(abspath $(or $(CARGO_TARGET_DIR),target)/cases.jsonl) $(if $(filter digests-update,$@),ROPEWALK_BLESS=1) \
	  cargo test --release --locked --quiet -p lab --test digests

format: $(VENV)/.requirements
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix python tests tools validation examples
	$(BIN)/ruff format --quiet python tests tools validation examples

clean:
	rm -rf $(VENV) target results dist python/ropewalk/_core.abi3.so scenarios/ropewalk.schema.json
	rm -rf examples/*/target examples/*/Cargo.lock fuzz/target fuzz/Cargo.lock
	find python tests tools validation -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache
