# These commands do everything on a fresh machine:
#   make reproduce   installs, then makes the ledger and the figures of all installed studies at laptop size
#   make test        installs, then runs the linter, the type checker and the tests
#   make docs        installs, then builds the site (docs/, the pages of the studies) into site/
# While working: make quick (the core alone), make full (also what takes longer than CI may).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PARALLEL = -n 2 --dist loadfile --no-loadscope-reorder
REPORT ?= phasescope-report
STUDIES ?= regular_language lazy_to_rich scan_and_snap co_occurrence state_tracking

.PHONY: reproduce test quick full lint types unit docs lock coverage bench clean

reproduce: $(VENV)/.installed
	$(BIN)/phasescope report --out $(REPORT)
	@echo "Open $(REPORT)/index.html; the figures are in $(REPORT)/figures."

test: lint types unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.installed-dev
	$(BIN)/pytest $(PARALLEL)

# How much of the core its own tests reach (tests/core, without those of `make full`), in lines and branches; studies are not
# counted, since their tests are about numbers. Below the floor of pyproject.toml it is an error.
coverage: $(VENV)/.installed-dev
	$(BIN)/pytest $(PARALLEL) tests/core -m "not full" --cov --cov-report=term

quick: lint
	$(BIN)/pytest $(PARALLEL) tests/core tests/test_*.py -m "not slow and not full"

full: lint types
	$(BIN)/pytest $(PARALLEL) -m "full or not full"

# The site, into site/, with its notebooks executed (minutes, the first time). Warnings are errors; it is read without a network.
# A report that was made becomes a part of it.
docs: $(VENV)/.installed-docs
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python docs/make_notebooks.py
	NO_MKDOCS_2_WARNING=1 PHASESCOPE_REPORT=$(REPORT) $(BIN)/python -m mkdocs build --strict
	@echo "Open site/index.html."

# The lock: exact versions and hashes of the libraries that are installed here.
lock: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python -m pip freeze --exclude-editable | grep == > $(VENV)/constraints.txt
	@echo '# The exact versions with which the ledger was made, for Python 3.11 to 3.13 on Linux and macOS; `make lock` writes it.' > requirements/lock.txt
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --constraints $(VENV)/constraints.txt \
		--generate-hashes --no-annotate --no-header --quiet >> requirements/lock.txt

bench: $(VENV)/.installed-bench
	for name in startup index cluster $(STUDIES); do $(BIN)/python benchmarks/$$name.py || exit 1; done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable examples/linear_modes
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --editable examples/linear_modes
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) phasescope-runs $(REPORT) site build
