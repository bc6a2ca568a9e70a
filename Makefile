# Everything that a developer, an operator or CI types. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PORT ?= 50051
DATA ?= .data/hall
# The first interpreter that is new enough and can make an environment.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

BIN := .venv/bin
ENV := .venv/.made
GEN := gen/.made

.PHONY: help env gen run test check rules bench soak clean

help: ## list what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 9

env: $(ENV) ## make the Python environment in .venv

gen: $(GEN) ## generate gen/ from proto/

run: env gen ## serve the whole hall on this machine (PORT=50051 DATA=.data/hall)
	@exec $(BIN)/guildhall serve all --port $(PORT) --data $(DATA)

$(ENV): pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer with its venv module is missing: apt-get install python3 python3-venv" >&2; exit 1; fi
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,bench]'
	@touch $@

# Directories stand among the sources, so that a file taken away counts as a change.
$(GEN): $(ENV) tools/gen.py $(wildcard tools/structgen.py) $(shell find proto 2>/dev/null)
	$(BIN)/python tools/gen.py
	@touch $@

clean: ## remove what was made, but not a hall's data
	rm -rf .venv gen build dist tools/buf/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
