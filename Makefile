# Everything a newcomer runs. Each target makes the virtual environment and the build that it needs, and only then.

PYTHON ?= python3
VENV ?= .venv
# Windows names both otherwise.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INTERPRETER := $(BIN)/python$(if $(filter Windows_NT,$(OS)),.exe)
# The first in which the command line keeps symbols that pyproject.toml would strip.
MATURIN := maturin>=1.16,<2
# The profile of the build that is installed (Cargo.toml): `local` takes a few minutes; `release` is what is published, and
# takes more.
PROFILE ?= local
# That of the build for tests, lints and pages: `dev` has debug assertions and checks of overflow, and shares the engine
# with the tests of the crates, so that it is compiled once for both.
TEST_PROFILE ?= dev
# The dependency group that has what tests need.
TEST_GROUP ?= test
SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md \
	$(shell find crates python -name '*.rs' -o -name Cargo.toml -o -name '*.py' -o -name '*.pyi' -o -name py.typed)

# With other flags the pages of the crates would be made again.
CARGO_DOC := RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

.DEFAULT_GOAL := help

.PHONY: help
help:  ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# pip 25.1 is the first that knows dependency groups.
$(INTERPRETER):
	$(PYTHON) -m venv $(VENV)
	$(INTERPRETER) -m pip install --quiet --upgrade 'pip>=25.1'

# Stamps: the wheel built from the sources with a profile and installed; the tools of one dependency group installed.
BUILT := $(VENV)/built-$(PROFILE)
TESTED := $(VENV)/built-$(TEST_PROFILE)
.PRECIOUS: $(VENV)/built-% $(VENV)/group-%

$(VENV)/built-%: $(INTERPRETER) $(SOURCES)
	$(BIN)/python -m pip install --quiet '$(MATURIN)'
	rm -rf $(VENV)/wheels $(VENV)/built-*
	$(BIN)/maturin build --profile $* $(if $(filter dev,$*),--features as-in-tests) --strip false --interpreter $(INTERPRETER) --out $(VENV)/wheels
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(VENV)/wheels/*.whl
	$(BIN)/python -m pip install $(VENV)/wheels/*.whl
	touch $@

$(VENV)/group-%: pyproject.toml | $(INTERPRETER)
	$(BIN)/python -m pip install --group $*
	touch $@

.PHONY: build
build: $(BUILT)  ## Build weald and install it into the virtual environment

.PHONY: build-for-tests
build-for-tests: $(TESTED)  ## Build weald for tests and install it into the virtual environment

.PHONY: tools
tools: $(VENV)/group-lint $(VENV)/group-$(TEST_GROUP) $(VENV)/group-docs  ## Install what lints, tests and pages need

.PHONY: demo demo-starts
demo: demo-starts $(BUILT) $(VENV)/group-demo  ## Build weald and run the examples: six minutes on two cores
	@$(BIN)/python examples/demo.py

demo-starts:
	@echo 'Building weald (about five minutes on two cores, unless it is built), then running the examples'

# `make test` runs the tests of the crates through their public interface and the cases of the Python tests that
# tests/tiers.py chooses. The tests inside the engine need a second compilation of it, which takes longer than these.
PYTEST := $(BIN)/python -m pytest
PARALLEL := --numprocesses auto --dist worksteal
# Which Python tests: all, or TIER=quick.
TIER ?=

.PHONY: test
test: $(TESTED) $(VENV)/group-$(TEST_GROUP)  ## Build weald and run the quick tier of its tests, Rust and Python
	cargo test --workspace --test '*'
	cargo test --workspace --doc
	$(PYTEST) -m quick $(PARALLEL)

.PHONY: test-all
test-all: test-rust test-python  ## Build weald and run all tests, Rust and Python

.PHONY: test-rust
test-rust:  ## Run the tests of the crates
	cargo test --workspace

.PHONY: test-python
test-python: $(TESTED) $(VENV)/group-$(TEST_GROUP)  ## Build weald and run all Python tests, or those of TIER=quick
	$(PYTEST) $(if $(TIER),-m $(TIER)) $(PARALLEL)

# Runs of the property tests, and random models that are exported.
STRESS_RUNS ?= 10
EXPORT_MODELS ?= 2000

.PHONY: stress
stress: $(TESTED) $(VENV)/group-$(TEST_GROUP)  ## Run all property tests ten times with new draws, and export 2000 models
	@set -e; for run in $$(seq $(STRESS_RUNS)); do echo "== $$run"; cargo test --quiet --package weald --lib; \
	env --unset=CI --unset=GITHUB_ACTIONS $(PYTEST) --quiet -m hypothesis $(PARALLEL); done
	EXPORT_MODELS=$(EXPORT_MODELS) $(BIN)/python -m pytest tests/test_export_*.py -k 'random or twice or runtime'

.PHONY: lint
lint: lint-rust lint-python  ## Check formatting, lints, documentation and types

.PHONY: lint-rust
lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p weald --no-default-features -- -D warnings
	$(CARGO_DOC) --workspace
	$(PYTHON) tools/rust_api.py

.PHONY: lint-python
lint-python: $(TESTED) $(VENV)/group-lint $(VENV)/group-test
	$(BIN)/python tools/budget.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=python $(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest weald._weald

.PHONY: docstrings
docstrings:  ## Write the texts that docstrings share into the docstrings (tools/docstrings)
	$(PYTHON) tools/docstrings/write.py

# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz:  ## Fuzz each target for a minute (needs a nightly toolchain; installs cargo-fuzz)
	@rustup run nightly rustc --version >/dev/null 2>&1 || { echo 'make fuzz needs: rustup toolchain install nightly'; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || { echo 'cargo-fuzz is not there: installing it'; cargo install --locked cargo-fuzz; }
	cargo test --quiet --package weald --test fuzz_regressions -- --ignored write_seeds
	@set -e; for target in $(notdir $(basename $(wildcard fuzz/fuzz_targets/*.rs))); do \
		echo "== $$target"; \
		cargo +nightly fuzz run -O $$target fuzz/corpus/$$target fuzz/regressions/$$target -- -max_total_time=$(FUZZ_SECONDS) \
			-max_len=16384 -print_final_stats=1; \
	done

# The data of both is in target/coverage.
.PHONY: coverage-rust
coverage-rust:  ## Say which lines of the crate its tests run (needs cargo-llvm-cov)
	@cargo llvm-cov --version >/dev/null 2>&1 || \
		{ echo 'make coverage-rust needs: cargo install --locked cargo-llvm-cov'; exit 1; }
	cargo llvm-cov --package weald --html --output-dir target/coverage/rust
	cargo llvm-cov report

.PHONY: coverage-python
coverage-python: export COVERAGE_FILE := $(CURDIR)/target/coverage/data
coverage-python: $(TESTED) $(VENV)/group-$(TEST_GROUP) $(VENV)/group-coverage  ## Say which lines of the package its tests run
	mkdir -p target/coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -m 'not alone' --numprocesses auto --dist worksteal
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage html --quiet --directory target/coverage/python
	$(BIN)/python -m coverage report

# The part of the crate that is changed, its tests, and which of how many shares of the changes is tried.
MUTANTS ?= crates/weald/src/exact/**/*.rs
MUTANT_TESTS ?= exact::
SHARD ?= 0/1

.PHONY: mutants-rust
mutants-rust:  ## Change the exact sums in small ways, one at a time: which changes does no test notice? (needs cargo-mutants)
	@cargo mutants --version >/dev/null 2>&1 || { echo 'make mutants-rust needs: cargo install --locked cargo-mutants'; exit 1; }
	cargo mutants --package weald --file '$(MUTANTS)' --shard $(SHARD) --output target -- --lib $(MUTANT_TESTS)

# Other changes are drawn each day.
MUTANTS_FLAGS ?= --sample 60

.PHONY: mutants-python
mutants-python: $(TESTED) $(VENV)/group-$(TEST_GROUP)  ## The same for the Python modules that check input
	$(BIN)/python tools/mutants.py $(MUTANTS_FLAGS)

# The crate has no `unsafe`; what it builds on has. Tests ask for more memory than there is on purpose: the sanitizer has to
# refuse it as the system does, not end the process.
.PHONY: sanitize
sanitize:  ## Run the crate's tests under AddressSanitizer (needs a nightly toolchain)
	@rustup run nightly rustc --version >/dev/null 2>&1 || { echo 'make sanitize needs: rustup toolchain install nightly'; exit 1; }
	ASAN_OPTIONS=allocator_may_return_null=1 RUSTFLAGS=-Zsanitizer=address cargo +nightly test --package weald --lib --tests \
		--target $$(rustc +nightly -vV | sed -n 's/^host: //p')

# Parts whose tests take no threads and no wide registers, which Miri does not know.
MIRI_TESTS := rng::tests::draws rng::tests::keys data::row_weights data::sparse data::weights partition::permutation \
	partition::sort partition::sparse split::best::tests::thresholds_separate tree::fill compress::best boost::loss::grid \
	boost::loss::sums boost::step_sizes model_file::bits

.PHONY: miri
miri:  ## Run some of the crate's tests under Miri (needs a nightly toolchain with miri and rust-src)
	@cargo +nightly miri --version >/dev/null 2>&1 || \
		{ echo 'make miri needs: rustup toolchain install nightly --component miri,rust-src'; exit 1; }
	PROPTEST_CASES=2 MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-deterministic-floats' \
		cargo +nightly miri test --package weald --lib -- $(MIRI_TESTS)

# What is published must build and pass its tests without the repository around it, whose profiles are not in the package.
.PHONY: package
package:  ## Pack the crate and run its tests from the package
	rm -rf target/packed
	mkdir -p target/packed
	cargo package --package weald --allow-dirty --target-dir target/packed
	dir=$$(mktemp -d) && tar -xzf target/packed/package/weald-*.crate -C "$$dir" && \
		{ CARGO_PROFILE_TEST_OPT_LEVEL=1 cargo test --manifest-path "$$dir"/weald-*/Cargo.toml --target-dir target/packed; code=$$?; rm -rf "$$dir"; exit $$code; }

# What `pip install` downloads. On Linux zig's linker takes the C library of manylinux_2_28 (RHEL 8, Debian 10, Ubuntu
# 18.10 and later), so that no container is needed. WHEEL_FLAGS are for other targets.
LINUX := $(filter Linux,$(shell uname -s))
WHEEL_FLAGS ?= $(if $(LINUX),--zig --compatibility manylinux_2_28)
WHEELS := target/dist

.PHONY: wheel
wheel: $(INTERPRETER)  ## Build the wheel that is published, its debug symbols apart (Linux)
	$(BIN)/python -m pip install --quiet '$(MATURIN)' ziglang wheel
	rm -rf $(WHEELS)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --release --locked --strip $(if $(LINUX),false,true) \
		--interpreter $(INTERPRETER) $(WHEEL_FLAGS) --out $(WHEELS)
	$(if $(LINUX),$(BIN)/python tools/split_symbols.py $(WHEELS)/symbols $(WHEELS)/*.whl)

# With no network: every crate is in the package's lock and in cargo's own store, once `cargo fetch` has been run.
.PHONY: sdist
sdist: $(INTERPRETER)  ## Pack the source distribution and build a wheel from it in a virtual environment of its own, offline
	$(BIN)/python -m pip install --quiet '$(MATURIN)'
	rm -rf target/sdist
	$(BIN)/maturin sdist --out target/sdist
	cargo fetch --quiet --locked
	$(PYTHON) -m venv target/sdist/venv
	target/sdist/venv/bin/python -m pip install --quiet --upgrade pip '$(MATURIN)'
	CARGO_NET_OFFLINE=true target/sdist/venv/bin/python -m pip wheel --quiet --no-deps --no-index --no-build-isolation \
		--wheel-dir target/sdist target/sdist/weald-*.tar.gz

.PHONY: deny
deny:  ## Check licences, advisories and sources of all crates that are built on
	@cargo deny --version >/dev/null 2>&1 || { echo 'make deny needs: cargo install --locked cargo-deny'; exit 1; }
	cargo deny check
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check

.PHONY: docs
docs: $(TESTED) $(VENV)/group-docs  ## Build the documentation site in target/docs
	rm -rf docs/generated docs/gallery target/docs
	$(BIN)/python -m sphinx -q -b html --fail-on-warning --keep-going docs target/docs
	$(CARGO_DOC) --quiet --package weald
	cp -R target/doc target/docs/rust
	@echo 'target/docs/index.html'

# In a browser that is installed: chromium and chromium-driver of Debian, or Chrome. Examples, links and docstrings of the
# pages are tested by `make test`.
.PHONY: test-docs
test-docs: docs  ## Build the documentation site and look at its pages in a headless browser
	$(MAKE) test-site

.PHONY: test-site
test-site: $(VENV)/group-docs $(VENV)/group-test
	SITE=target/docs $(BIN)/python -m pytest tests/test_site.py

.PHONY: serve-docs
serve-docs: docs  ## Build the documentation site and serve it at port 8000 of this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory target/docs 8000

# The release that the public interface is compared with: a tag or any other revision.
BASELINE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)

.PHONY: semver
semver:  ## Compare the crate's interface with the last release, or with BASELINE=revision
	@test -n '$(BASELINE)' || { echo 'there is no release yet: make semver BASELINE=revision'; exit 1; }
	@cargo semver-checks --version >/dev/null 2>&1 || \
		{ echo 'make semver needs: cargo install --locked cargo-semver-checks'; exit 1; }
	cargo semver-checks check-release --package weald --baseline-rev $(BASELINE)

# Without real data, each side once, and so indicative only. With data (`python
# benches/data.py`): make bench BENCH_FLAGS='--json results.jsonl'.
BENCH_FLAGS ?= --quick --made

.PHONY: bench
bench: $(VENV)/built-release $(VENV)/group-demo  ## Build weald and run the benchmarks, on made data unless BENCH_FLAGS is given
	$(BIN)/python benches/peers/run_all.py $(BENCH_FLAGS)

# The commit that counts are compared with is the last one that HEAD has in common with BASE.
BASE ?= main
INSTRUCTIONS_FLAGS ?=

.PHONY: instructions
instructions:  ## Count the instructions of small pieces of work, and compare them with BASE=main (needs valgrind)
	@valgrind --version >/dev/null 2>&1 || { echo 'make instructions needs valgrind'; exit 1; }
	$(PYTHON) benches/instructions.py '$(BASE)' $(INSTRUCTIONS_FLAGS)

# Of the data sets of benches/data.py, all that can be fetched. Fails if a source does not answer or has other values.
DATA := $(or $(WEALD_DATA),target/data)

.PHONY: data
data: $(VENV)/group-data  ## Download the data sets of the benchmarks to target/data, or to WEALD_DATA
	$(BIN)/python benches/data.py fetch all --folder '$(DATA)'

.PHONY: clean
clean:  ## Remove what the other targets made
	rm -rf $(VENV) target .pytest_cache .mypy_cache .ruff_cache .hypothesis
