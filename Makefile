# Everything that a developer, an operator or CI types. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Of `run`.
PORT ?= 50051
DATA ?= .data/hall
# Of `soak`: how many random games, how many schedules of the log's simulation, how long the live history check.
GUILDHALL_GAMES ?= 100000
GUILDHALL_SCHEDULES ?= 500000
GUILDHALL_CHAOS_SECONDS ?= 7200

# The first interpreter that is new enough and can make an environment. The distribution's own come first: they are built
# with profile-guided optimisation, which one that somebody built himself often lacks, and then is 1.3 times slower.
PYTHON ?= $(shell for p in /usr/bin/python3 python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

BIN := .venv/bin
ENV := .venv/.made
GEN := gen/.made
BUF := tools/buf/node_modules/.made
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal --durations 30 --durations-min 5

.PHONY: help env gen run test check rules bench soak clean

help: ## list what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 9

env: $(ENV) ## make the Python environment in .venv

gen: $(GEN) ## generate gen/ from proto/

run: env gen ## serve the whole hall on this machine (PORT=50051 DATA=.data/hall)
	@exec $(BIN)/guildhall serve all --port $(PORT) --data $(DATA)

test: env gen ## run every test
	$(PYTEST)

check: env gen $(BUF) ## check style, types and the contract (ruff, mypy --strict, buf)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(wildcard libs services tools)
	tools/buf/node_modules/.bin/buf lint gen/guildhall.binpb
	$(BIN)/python tools/breaking.py
	$(BIN)/python tools/formats.py

rules: env gen ## print every rule of every game with the tests that hold it
	$(BIN)/python tools/rules.py

bench: env gen ## measure, beside yardsticks of the same run
	$(BIN)/python -m bench

soak: export GUILDHALL_GAMES := $(GUILDHALL_GAMES)
soak: export GUILDHALL_SCHEDULES := $(GUILDHALL_SCHEDULES)
soak: export GUILDHALL_CHAOS_SECONDS := $(GUILDHALL_CHAOS_SECONDS)
soak: env gen ## run every test, long (GUILDHALL_GAMES=100000 GUILDHALL_SCHEDULES=500000 GUILDHALL_CHAOS_SECONDS=7200)
	$(PYTEST) --timeout 0 --hypothesis-profile soak

clean: ## remove what was made, but not a hall's data
	rm -rf .venv gen build dist tools/buf/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(ENV): pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer with its venv module is missing: apt-get install python3 python3-venv" >&2; exit 1; fi
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,bench]'
	@touch $@

# Directories stand among the sources, so that a file taken away counts as a change.
$(GEN): $(ENV) tools/gen.py tools/structgen.py $(shell find proto 2>/dev/null)
	$(BIN)/python tools/gen.py
	@touch $@

$(BUF): tools/buf/package.json tools/buf/package-lock.json
	@if ! command -v npm >/dev/null; then \
		echo "buf is installed with npm, which is missing: apt-get install nodejs npm" >&2; exit 1; fi
	npm ci --prefix tools/buf --no-audit --no-fund --loglevel error
	@touch $@
