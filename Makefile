# `make demo` and `make test` start from nothing: they make .venv, install into it, and go.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test test-browser lint bench clean
help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

setup: $(STAMP)  ## make .venv and install every pinned package and airenv itself
$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup  ## train a small bot, play it against the others and write a report with plots
	$(BIN)/python -m experiments.demo

test: lint  ## lint, types, every test
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Debian's Chromium, where it may be installed and is not there yet; `make test` needs neither it nor root.
test-browser: setup  ## render the report page in headless Chromium and check it
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || \
	    { echo "no Chromium here, and it cannot be installed: install it and try again" >&2; exit 1; }
	$(BIN)/python -m pytest -o addopts=-q tests/browser

bench: setup  ## measure airenv beside its peers, in one run
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) .venv-peers .mypy_cache .ruff_cache .pytest_cache
