# The house's commands. Each says in one line what it does: `make help`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Targets build on each other and share folders; the tools below them use all cores themselves.
.NOTPARALLEL:

# Each example has a schema of its own, so its own data.
EXAMPLE ?= room-planner
DEMO_APP := examples/$(EXAMPLE)/dist
DEMO_OBJECTS := $(addprefix --objects ,$(wildcard examples/$(EXAMPLE)/objects.js))
# Packages outside of the workspace.
OUTSIDE := examples/rate-limit
CLIPPY := cargo clippy --locked --all-targets
CLIPPY_RULES := -- -D warnings

.PHONY: help setup build wasm web server bench baselines docs dist demo demo-check test check check-format check-lints check-rules check-types fix soak measure clean

help: ## shows this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: ## installs everything the other targets need; quiet when nothing is missing
	@scripts/setup

build: setup server wasm web ## builds the release binary, the browser module, the web packages and the demo page

# Alone: what only measurements need would make everyone's first build longer.
server:
	cargo build --release --locked --package iolite-server

bench: server ## builds iolite-bench too, which `iolite bench` starts
	cargo build --release --locked --package iolite-benchmarks

baselines: bench ## builds OCC-Store and Lock-Store too, which transactions are measured beside
	cargo build --release --locked --package iolite-baselines

wasm:
	@cargo xtask wasm

web: wasm
	npm run --silent build

# It takes a minute of its own, so CI builds no site: it tests the pages that the site is made of.
docs: server web ## makes the documentation site in target/site/html, with search, and looks at all of its links
	@cmp --silent docs/site/builder/package-lock.json docs/site/builder/node_modules/.installed-by-lock \
		|| { npm ci --prefix docs/site/builder --no-progress --loglevel=error && cp docs/site/builder/package-lock.json docs/site/builder/node_modules/.installed-by-lock; }
	cargo doc --locked --no-deps --package iolite
	npm run --silent site --workspace docs/site

dist: web ## makes what app developers install, in dist: the program for Linux, packages for npm, checksums; the link takes minutes
	cargo build --profile dist --locked --package iolite-server
	scripts/pack target/dist/iolite dist

demo: build ## sets up, builds and starts the demo, or EXAMPLE=chat, word-board, murmur, sheet, album, passwords, wall, todo, word-duel; prints the address of its page
	@test -x target/release/iolite || { echo "error: target/release/iolite was not built: the server is not there yet" >&2; exit 1; }
	target/release/iolite dev --app $(DEMO_APP) --data .iolite/$(EXAMPLE) $(DEMO_OBJECTS)

demo-check: build ## starts the demo on a free port, loads its page in Chromium, and stops it again
	npm run --silent demo-check --workspace tests/browser

test: build ## runs every test and sums them up
	@cargo xtask test

check: setup wasm ## sets up, then reads only: format, lints, house rules, types; CI tests after it
	@$(MAKE) --no-print-directory --keep-going check-format check-lints check-rules check-types

check-format:
	cargo fmt --all --check
	$(OUTSIDE:%=cargo fmt --manifest-path %/Cargo.toml --check)

check-lints:
	$(CLIPPY) $(CLIPPY_RULES)
	$(CLIPPY) --package xtask-bindgen $(CLIPPY_RULES)
	cargo xtask wasm --lint

check-rules:
	cargo xtask tidy

check-types:
	npm run --silent types

fix: setup ## formats, and applies what the linters can repair by themselves
	cargo clippy --fix --allow-dirty --allow-staged --all-targets $(CLIPPY_RULES)
	cargo fmt --all
	$(OUTSIDE:%=cargo fmt --manifest-path %/Cargo.toml)

# The packages with an ignored test that is named soak_...
SOAKED = $(shell grep -rl --include='*.rs' 'fn soak_' crates programs tests | cut -d/ -f1-2 | sort -u | xargs -I{} grep -m1 '^name = ' {}/Cargo.toml | cut -d'"' -f2)

soak: build ## runs the long tests: ten million mutated frames, histories, searches of models, thousands of simulated seeds; hours
	@test -n "$(SOAKED)" || { echo "error: no test is there to soak: name an ignored test soak_..." >&2; exit 1; }
	cargo test --release --locked $(SOAKED:%=--package %) -- --ignored soak_
	target/release/iolite simulate --seeds 1..5000
	target/release/iolite simulate --world rows --seeds 1..2000
	target/release/iolite simulate --world centres --seeds 1..2000
	target/release/iolite simulate --world objects --seeds 1..2000
	target/release/iolite simulate --world rights --seeds 1..2000
	target/release/iolite torture --cluster 2x3 --seconds 120
	target/release/iolite torture --cluster 1x5 --seconds 120

measure: ## measures the workloads of one server (benchmarks/results/embedded.md; scripts/measure-* have the others); for a machine that does nothing else
	@scripts/measure

clean: ## removes everything that was built or installed into this folder, but not Debian's packages
	cargo clean
	rm -rf node_modules docs/site/builder/node_modules test-results dist sdks/typescript/{client,objects}/src/wasm
	rm -rf sdks/typescript/*/dist examples/*/dist examples/*/*/dist tests/browser/dist docs/site/dist
	find sdks examples tests -name '*.tsbuildinfo' -delete
