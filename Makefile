# `make help` lists what there is. Each target sets up the virtual environment first, if need be.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin

# What `make ablate` runs; see README.md.
SWEEP  ?= ablate
SCALE  ?= tiny
DATA   ?= grammar
SEEDS  ?= 1
ROWS   ?= 2
RUNS   ?= runs
REPORT ?= $(RUNS)/report
EXTRA  ?=

.DEFAULT_GOAL := help
.PHONY: help venv ablate test test-all test-cluster lint format bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/ready ## set up the virtual environment and nothing else

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("xformer needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

ablate: venv ## train every row of a sweep and report: SWEEP=ablate SCALE=tiny DATA=grammar SEEDS=1,2,3 ROWS=2
	$(BIN)/xformer train sweeps=$(SWEEP) scale=$(SCALE) data=$(DATA) seed=$(SEEDS) runs_dir=$(RUNS) \
	  tracking=none trainer.threads=1 hydra/launcher=joblib hydra.launcher.n_jobs=$(ROWS) $(EXTRA); \
	  code=$$?; if [ $$code -ge 2 ]; then exit $$code; fi; \
	  $(BIN)/xformer report $(RUNS) --out $(REPORT) && exit $$code

test: venv ## run the tests that take minutes
	$(BIN)/python -m pytest -n 2 -m "not slow and not cluster"

test-all: venv ## run all tests but those of clusters
	$(BIN)/python -m pytest -n 2 -m "not cluster"

test-cluster: venv ## run sweeps on a SLURM of one node and on a Ray (as root, on Debian; minutes)
	apt-get install --yes --quiet munge slurmctld slurmd slurm-client
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-ray.lock
	$(BIN)/python -m pytest -m cluster

lint: venv ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: venv ## put the code into its style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv ## measure speed (docs/performance.md says what is compared)
	$(BIN)/python -m benchmarks

clean: ## remove the virtual environment and what builds left; runs stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
