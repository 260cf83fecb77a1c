# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-again coverage soak check lock bench clean

demo: $(VENV)/demo.stamp
	@cd $(CURDIR) && PATH="$(CURDIR)/$(BIN):$$PATH" flowgauge demo
	@echo "The program is $(BIN)/flowgauge. The guide starts in README.md, the reference in docs/."

test: $(VENV)/test.stamp
	$(BIN)/pytest

# Only the tests that failed the last time, one after the other: what fails alone too is broken, what does not is unsteady.
test-again: $(VENV)/test.stamp
	$(BIN)/pytest -n 0 --last-failed --last-failed-no-failures none

coverage: $(VENV)/test.stamp
	$(BIN)/pytest --cov --cov-report=term:skip-covered

soak: $(VENV)/test.stamp
	FLOWGAUGE_SOAK=1 $(BIN)/pytest -m 'soak or property' -n 2 --timeout 3600 -rP

check: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vulture

bench: $(VENV)/test.stamp
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The locks name no host: they are plain requirements with hashes.
lock: $(VENV)/test.stamp
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
	  pyproject.toml --extra report -o requirements/demo.txt
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
	  pyproject.toml --all-extras --group test --group check -o requirements/test.txt

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Flowgauge needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: requirements/demo.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/demo.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(VENV)/test.stamp: requirements/test.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis htmlcov .coverage*
