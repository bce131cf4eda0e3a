# What there is to do here. Each target builds and provisions what it needs.

CARGO ?= cargo
# The control plane's binaries: named (WELLFED_BINARIES), cached, or built from pinned Go modules.
PROVISION = tests/controlplane/provision
RESOLVE = folder=$$($(PROVISION)) && export WELLFED_BINARIES_RESOLVED="$$folder"
PROGRAMS = -p wellfed -p wellfed-world -p wellfed-tests --bins
PLANE = target/debug/plane

.PHONY: demo demo-mutants mutants test lint bench bench-gate bench-decide bless plane at-rest clean require

## demo: play three GPU workloads on a real control plane, about four and a half minutes; KEEP=1 leaves it up
demo: require
	@$(RESOLVE) && $(CARGO) build --locked $(PROGRAMS) && \
	target/debug/demo $(if $(KEEP),--keep) $(if $(MUTANT),--mutant $(MUTANT))

## demo-mutants: the proof that the demo can fail; each must end with exit code 1
demo-mutants: require
	@$(RESOLVE) && $(CARGO) build --locked $(PROGRAMS) && \
	for mutant in gate-off chat-starved search-restored never-cured; do \
	  echo "== mutant $$mutant"; code=0; \
	  target/debug/demo --mutant $$mutant --output target/demo/$$mutant.json || code=$$?; \
	  [ $$code -eq 1 ] || { echo "the mutant $$mutant survived: exit code $$code"; exit 1; }; \
	done; echo "every mutant was killed"

## mutants: the proof that the property tests can fail: each mistake of tests/mutants.toml, made in a copy; about 10 minutes
mutants: require
	$(CARGO) test --locked -q -p wellfed-engine --test mutants -- --ignored --nocapture

## test: every crate's tests, on one real control plane
test: require
	@$(RESOLVE) && $(CARGO) build --locked $(PROGRAMS) && $(PLANE) run -- $(CARGO) test --locked --workspace

## lint: formatting and clippy, warnings denied
lint: require
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

## bench: speed, as counts and ratios
bench: require
	$(CARGO) bench --locked -p wellfed-engine -p wellfed -p wellfed-sim

## bench-gate: how often the gate is right, on both halves of the corpus; fails below the goal (target/bench/gate.json)
bench-gate: require
	@$(CARGO) build --locked -q --release -p wellfed-corpus && target/release/bench-gate

## bench-decide: what the gate is worth, over recorded load; under a minute (target/bench/decide.json)
bench-decide: require
	@$(CARGO) build --locked -q --release -p wellfed-corpus && target/release/bench-decide

## bless: rewrite everything that is generated
bless: require
	BLESS=1 $(CARGO) test --locked -q -p wellfed-crds -p wellfed-engine -p wellfed --test generated --test reference

## plane: a control plane to look at, until Ctrl-C
plane: require
	@$(RESOLVE) && $(CARGO) build --locked -q -p wellfed-tests --bins && $(PLANE) up

## at-rest: nothing is written while nothing changes, at 200 workloads (about 6 minutes)
at-rest: require
	@$(RESOLVE) && $(CARGO) build --locked $(PROGRAMS) && \
	$(PLANE) run -- $(CARGO) test --locked -p wellfed-tests --test at_rest -- --ignored --nocapture

## clean: remove what was built here; the control plane's cache stays
clean:
	$(CARGO) clean

require:
	@command -v $(CARGO) >/dev/null || { echo "error: no Rust toolchain"; \
	  echo "fix:   install rustup (https://rustup.rs); rust-toolchain.toml picks the version"; exit 1; }
	@command -v cc >/dev/null || { echo "error: no C compiler, which the TLS library needs"; \
	  echo "fix:   install gcc or clang (Debian: apt-get install build-essential)"; exit 1; }
