# The commands of this repository; `make` lists them.
PORT ?= 2024
PYTHON ?= python3

BIN := .venv/bin
UV := $(BIN)/uv
SERVER := .venv/.installed-server
TESTS := .venv/.installed-tests
# Compiled at once: the environment may forbid Python to write bytecode later.
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --compile-bytecode
# Two processes, for two cores; they must name the cases alike.
FAST := $(BIN)/pytest -q -n 2

TOO_OLD := $(PYTHON) is older than Python 3.11; name another one, e.g. PYTHON=python3.12

# Another environment that happens to be active must not be the one that is installed into.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH

.DEFAULT_GOAL := help
.PHONY: help setup fmt lint types floors fast check test soak dev bench lock build clean

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: $(TESTS)  ## install everything for development, and the commit hook
	$(BIN)/pre-commit install

fmt: $(TESTS)  ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lint: $(TESTS)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TESTS)  ## mypy --strict
	$(BIN)/mypy

floors: $(TESTS)  ## what may import what
	$(BIN)/lint-imports

fast: $(TESTS)  ## tests that need no server: unit, conformance on memory and SQLite, the tree
	$(FAST) tests/unit tests/conformance tests/architecture -m "not soak and not servers"

check: lint types floors fast  ## what every commit must pass

test: $(TESTS)  ## the whole suite, on real servers from packages
	$(BIN)/pytest

soak: $(TESTS)  ## fault, load and size runs that take minutes
	$(BIN)/pytest -m soak --timeout 1800

dev: $(SERVER)  ## serve the example agent on 127.0.0.1:PORT
	cd examples/chat && ../../$(BIN)/threadkeep dev --host 127.0.0.1 --port $(PORT)

bench: $(TESTS)  ## measure the savers side by side
	$(BIN)/python -m benchmarks.checkpoints

lock: $(UV)  ## pin the test environment anew
	$(UV) pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 \
		--extra all --group dev --custom-compile-command "make lock" \
		--output-file requirements/dev.txt pyproject.toml

build: $(TESTS)  ## the wheel and the source archive, into dist/
	$(UV) build --quiet --no-build-isolation --python $(BIN)/python

clean:  ## remove what the tools left behind, not the environment
	rm -rf build dist .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +

# Asked before .venv is there: one of an older Python would stay, whatever PYTHON says next time.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(TOO_OLD)")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(SERVER): pyproject.toml requirements/dev.txt | $(UV)
	$(INSTALL) --constraint requirements/dev.txt --editable ".[server]"
	touch $@

$(TESTS): pyproject.toml requirements/dev.txt | $(UV)
	$(INSTALL) --require-hashes --requirement requirements/dev.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@
