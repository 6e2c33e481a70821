# make demo: set up and open the sample runs.  make quick: fast checks.  make test: the tests.  make sweep: the long tests.
# make check: all checks of CI except the wheel.  make faults: the counts in docs/reliability.md.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Many tests wait for other processes, so there are twice as many test processes as processors.
# CI sets PYTHONDONTWRITEBYTECODE. It is cleared here because every test process imports the same compiled tests.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $$(($$(getconf _NPROCESSORS_ONLN) * 2)) --dist worksteal

.PHONY: packages cluster demo compiled collected quick test sweep faults lint types layers check snapshots pictures bench clean

demo: compiled
	@$(BIN)/fcreview demo

# Half a minute on two cores: the tests that need no other process, no app and no benchmark data.
QUICK := tests/test_*.py tests/model tests/matching tests/stats tests/tables tests/golden_audit tests/corrections tests/store/filters \
         tests/store/reviews tests/importers/test_registry.py tests/importers/test_owners.py tests/importers/bfcl tests/importers/common tests/tui/item_view tests/tui/text tests/tui/review
quick: lint layers
	FCREVIEW_EXAMPLES=quick $(PYTEST) -m "not process and not bench and not slow and not sweep" $(QUICK)

test: compiled
	$(PYTEST) -m "not sweep"

# Tests on whole published runs and with hundreds of random cases. They take minutes. CI runs them too.
sweep: compiled
	$(PYTEST) -m "sweep and not fuzz"

# The long form of tests/faults, one test after the other. docs/reliability.md has the counts.
faults: compiled
	FCREVIEW_FAULTS=long $(BIN)/python -m pytest -q -s tests/faults

# Compile the tests. `make test` reports errors in them.
collected: $(STAMP)
	-PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq >/dev/null

types: $(STAMP)
	$(BIN)/mypy -p fcreview

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: $(STAMP)
	PYTHONPATH=. $(BIN)/lint-imports --no-cache

check: lint types layers test sweep

# Update the screen snapshots. Look at the differences before you commit.
snapshots: $(STAMP)
	$(BIN)/python -m pytest -q tests/tui/test_snapshots.py --snapshot-update

# Draw the pictures of README and docs from the sample runs.
pictures: compiled
	COLORTERM=truecolor $(BIN)/python docs/pictures/make.py

# Read exported files with the packages that they are for, in a separate environment: Inspect logs with `inspect_ai`,
# trajectories with `atif`, records of figures with the validator of `every-eval-ever` (its code runs on Python 3.11, although it asks
# for 3.12), training rows with `datasets` and TRL. TRL needs PyTorch; the pinned release has a CPU build.
PACKAGES := build/packages
packages: compiled
	mkdir -p $(PACKAGES)
	test -x $(PACKAGES)/venv/bin/python || $(PYTHON) -m venv $(PACKAGES)/venv
	$(PACKAGES)/venv/bin/python -m pip install --quiet -e '.[inspect]' 'atif>=1.8' datasets hypothesis pytest pytest-asyncio
	$(PACKAGES)/venv/bin/python -m pytest -q tests/exporters/test_inspect_log.py tests/exporters/test_inspect_published.py \
	  tests/exporters/test_conversations.py
	$(PACKAGES)/venv/bin/python -m pip install --quiet --no-deps --ignore-requires-python every-eval-ever
	$(PACKAGES)/venv/bin/python -m pip install --quiet requests pyyaml huggingface_hub jsonschema
	FCREVIEW_EEE_PYTHON=$(CURDIR)/$(PACKAGES)/venv/bin/python $(BIN)/python -m pytest -q tests/exporters/test_every_eval_ever.py
	$(PACKAGES)/venv/bin/python -m pip install --quiet torch==2.13.0
	$(PACKAGES)/venv/bin/python -m pip install --quiet trl
	$(BIN)/fcreview import sample_runs --workspace $(PACKAGES)/workspace
	for each in sft preference; do $(BIN)/fcreview export sample_runs --workspace $(PACKAGES)/workspace --annotator check \
	  --format $$each --trust-rule --force -o $(PACKAGES)/$$each.jsonl || exit 1; done
	$(PACKAGES)/venv/bin/python tests/exporters/check_training_rows.py $(PACKAGES)/sft.jsonl $(PACKAGES)/preference.jsonl

# Test lakes in an object store (a moto server) and on a Dask cluster of two processes, in a separate environment.
CLUSTER := build/cluster
cluster: compiled
	mkdir -p $(CLUSTER)
	test -x $(CLUSTER)/venv/bin/python || $(PYTHON) -m venv $(CLUSTER)/venv
	$(CLUSTER)/venv/bin/python -m pip install --quiet --upgrade pip
	$(CLUSTER)/venv/bin/python -m pip install --quiet -e '.[cluster]' 'aiobotocore[boto3]' hypothesis pytest pytest-asyncio
	$(CLUSTER)/venv/bin/python -m pip install --quiet 'moto[server]>=5'
	$(CLUSTER)/venv/bin/python -m pytest -q tests/store/lake tests/cli/commands/test_lake.py tests/cli/commands/test_lake_cluster.py tests/cli/test_dask_cluster.py

bench: compiled
	$(BIN)/python benchmarks/run_all.py

# Compile the product. pip compiles an installed package, but not an editable one, and each start would compile again.
compiled: $(STAMP)
	$(BIN)/python -m compileall -q cli exporters fcreview importers store tui

# --no-compile: Python compiles a library when it is first imported, and the tests import half of the libraries.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info snapshot_report.html
