# make demo: set up and open the sample runs.  make quick: while you work.  make test: the tests.  make sweep: the long ones.  make check: all that CI asks.
# make faults: what docs/reliability.md counts.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Many tests wait for other processes, so more run at a time than there are processors.
# Compiled tests are kept even where CI keeps none of its own: three processes read them, twice.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)) --dist worksteal

.PHONY: packages cluster demo compiled collected quick test sweep faults lint types layers check snapshots pictures bench clean

demo: compiled
	$(BIN)/fcreview demo

# Half a minute on two cores: what needs no process, no app and no benchmark's files; mypy remembers from run to run.
QUICK := tests/test_*.py tests/model tests/matching tests/stats tests/golden_audit tests/corrections tests/store/filters \
         tests/store/reviews tests/importers/bfcl tests/importers/common tests/tui/item_view tests/tui/text tests/tui/review
quick: lint layers
	FCREVIEW_EXAMPLES=quick $(PYTEST) -m "not process and not bench and not slow and not sweep" $(QUICK)

test: compiled
	$(PYTEST) -m "not sweep"

# Whole published runs and hundreds of random cases: what takes minutes and seldom finds more than `test` does. CI asks it too.
# Hostile data in every field is hunted with `make faults` only.
sweep: compiled
	$(PYTEST) -m sweep --ignore=tests/faults/hostile --ignore=tests/faults/kept

# The programs of tests/faults in their long form, one after the other. docs/reliability.md has their counts.
faults: compiled
	FCREVIEW_FAULTS=long $(BIN)/python -m pytest -q -s tests/faults

# Compiles the tests. `make test` reports what is wrong with them.
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

# The pictures of the screens as they are now; look at what changed before you commit them.
snapshots: $(STAMP)
	$(BIN)/python -m pytest -q tests/tui/test_snapshots.py --snapshot-update

# The pictures of README and docs, from the sample runs.
pictures: compiled
	COLORTERM=truecolor $(BIN)/python docs/pictures/make.py

# Exports, read by the packages they are for, in an environment of its own: Inspect logs by `inspect_ai`, trajectories by
# `atif`, training rows by `datasets` and TRL. TRL needs PyTorch: the pinned release has a CPU build.
PACKAGES := build/packages
packages: compiled
	mkdir -p $(PACKAGES)
	test -x $(PACKAGES)/venv/bin/python || $(PYTHON) -m venv $(PACKAGES)/venv
	$(PACKAGES)/venv/bin/python -m pip install --quiet -e '.[inspect]' 'atif>=1.8' datasets hypothesis pytest pytest-asyncio
	$(PACKAGES)/venv/bin/python -m pytest -q tests/exporters/test_inspect_log.py tests/exporters/test_inspect_published.py \
	  tests/exporters/test_conversations.py
	$(PACKAGES)/venv/bin/python -m pip install --quiet torch==2.13.0
	$(PACKAGES)/venv/bin/python -m pip install --quiet trl
	$(BIN)/fcreview import sample_runs --workspace $(PACKAGES)/workspace
	for each in sft preference; do $(BIN)/fcreview export sample_runs --workspace $(PACKAGES)/workspace --annotator check \
	  --format $$each --trust-rule --force -o $(PACKAGES)/$$each.jsonl || exit 1; done
	$(PACKAGES)/venv/bin/python tests/exporters/check_training_rows.py $(PACKAGES)/sft.jsonl $(PACKAGES)/preference.jsonl

# Lakes in an object store (a server of moto) and on a Dask cluster of two processes, in an environment of its own.
CLUSTER := build/cluster
cluster: compiled
	mkdir -p $(CLUSTER)
	test -x $(CLUSTER)/venv/bin/python || $(PYTHON) -m venv $(CLUSTER)/venv
	$(CLUSTER)/venv/bin/python -m pip install --quiet --upgrade pip
	$(CLUSTER)/venv/bin/python -m pip install --quiet -e '.[cluster]' 'aiobotocore[boto3]' hypothesis pytest pytest-asyncio
	$(CLUSTER)/venv/bin/python -m pip install --quiet 'moto[server]>=5'
	$(CLUSTER)/venv/bin/python -m pytest -q tests/store/lake tests/cli/commands/test_lake.py tests/cli/commands/test_lake_cluster.py

bench: compiled
	$(BIN)/python benchmarks/run_all.py

# What pip does for a package that is installed, and not for a tree that is worked on: without it every start compiles.
compiled: $(STAMP)
	$(BIN)/python -m compileall -q cli exporters fcreview importers store tui

# Python compiles a library at its first import. Half of them are imported by no test.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info snapshot_report.html
