# `make demo` shows it, `make test` checks it; both make .venv first. `make PYTHON=python3.12 ...` chooses the Python.

PYTHON ?= python3
VENV := .venv
# More arguments for pytest, as in `make test ARGS="-k graph -x"`.
ARGS ?=
# In how many processes tests run.
JOBS ?= auto
# How many times as many seeds, examples and moments `make torture` goes through as `make test` does.
SEEDS ?= 20

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Start-up times are only honest with compiled modules beside the sources.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONHOME
unexport PYTHONPATH
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN := $(VENV)/bin
WITH_PATH := PATH="$(abspath $(BIN)):$$PATH"

# A .venv whose Python no longer runs, since the machine's was replaced, is made again.
$(shell $(BIN)/python -c '' 2>/dev/null || rm -f $(BIN)/python $(VENV)/installed $(VENV)/installed-dev)

PIP_INSTALL := $(BIN)/python -m pip install -qq --editable

.PHONY: help demo test torture lint format bench clean

help:
	@echo "make demo     install into $(VENV) and build docs/examples/quickstart with the fake sandbox"
	@echo "make test     run the checks, then the whole test suite"
	@echo "make torture  run what tries to break it, with SEEDS=$(SEEDS) times as many seeds, sizes and moments"
	@echo "make lint     run the checks only: ruff, mypy, import-linter"
	@echo "make format   let ruff rewrite the sources"
	@echo "make bench    run the benchmarks"
	@echo "make clean    remove what make and the tools made"

demo: $(VENV)/installed
	@$(WITH_PATH) sh docs/examples/quickstart/demo.sh

test: lint
	$(WITH_PATH) python -m pytest --numprocesses $(JOBS) $(ARGS)

torture: $(VENV)/installed-dev
	$(WITH_PATH) REEVAL_BUILD_TEST_SEEDS=$(SEEDS) python -m pytest --numprocesses $(JOBS) -m torture \
	  --timeout $$((600 * $(SEEDS))) $(ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/installed-dev
	@$(WITH_PATH) python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Editable, through one path entry and no import hook: tests see the sources as they are, and start-up costs the same.
$(VENV)/installed: pyproject.toml $(BIN)/python
	@$(PIP_INSTALL) .
	@touch $@

$(VENV)/installed-dev: pyproject.toml $(BIN)/python
	@$(PIP_INSTALL) '.[dev]'
	@touch $@ $(VENV)/installed

$(BIN)/python:
	@command -v git >/dev/null || { echo "git is missing (on Debian: apt-get install git)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is missing or older than 3.11: install Python 3.11 or later, or name one (make PYTHON=python3.12)" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) has no working venv module (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
