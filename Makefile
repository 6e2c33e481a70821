# make demo: set up and open the sample runs.  make test: set up and run every test.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint types layers check bench clean

demo: $(STAMP)
	$(BIN)/fcreview demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n auto

# One link a room, so that the type checker sees the package as it is installed.
types: $(STAMP)
	rm -rf .types && mkdir -p .types/fcreview
	ln -s $(CURDIR)/core/* .types/fcreview/
	for room in cli tui store importers exporters sample_runs; do ln -s $(CURDIR)/$$room .types/fcreview/$$room; done
	$(BIN)/mypy -p fcreview

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: types
	PYTHONPATH=.types $(BIN)/lint-imports --no-cache

check: lint types layers test

bench: $(STAMP)
	$(BIN)/python benchmarks/run_all.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) .types build dist *.egg-info
