# make demo [INPUT=path]   redact two sample clips (or your own) and say where the results are
# make test                 every test           make lint    style, types, import contracts
# make bench [DEFACE=path]  measure (against that deface too); results go to bench/results
#
# Each sets up $(VENV) by itself; a second call costs nothing. Python 3.11 or newer:
# make PYTHON=python3.12 ...      With an NVIDIA GPU: make EXTRA=gpu ...
# make test TESTERS=1             one test at a time, in one process

PYTHON ?= python3
VENV ?= .venv
EXTRA ?= cpu
TESTERS ?= 4
BIN := $(VENV)/bin
export INPUT

.PHONY: demo test lint bench clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.for-use
	@$(BIN)/mpflow demo -o demo $${INPUT:+-- "$$INPUT"}
	@echo 'next: . $(BIN)/activate && mpflow run -i YOURS.mp4 -o covered.mp4 && mpflow audit YOURS.mp4 covered.mp4'

test: $(VENV)/.for-test
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.for-bench
	$(BIN)/python bench/shm/bench_ring.py --out bench/results/shm.json
	$(BIN)/python bench/bench_run.py $(if $(DEFACE),--deface "$(DEFACE)") --out bench/results/run.json
	$(BIN)/python bench/bench_memory.py --out bench/results/memory.json
	$(BIN)/python bench/bench_recovery.py --out bench/results/recovery.json
	$(BIN)/python bench/bench_batching.py --out bench/results/batching.json
	$(BIN)/python bench/bench_live.py --out bench/results/live.json
	$(BIN)/python bench/bench_privacy.py $(if $(DEFACE),--deface "$(DEFACE)") --out bench/results/privacy.json
	$(BIN)/python bench/bench_landmarks.py --out bench/results/landmarks.json
	$(BIN)/python bench/bench_swap.py --out bench/results/swap.json

clean:
	rm -rf "$(VENV)" demo build dist *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv "$(VENV)"

$(VENV)/.for-use: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$(EXTRA)]'
	@touch $@

$(VENV)/.for-test: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$(EXTRA),test]'
	@touch $@ $(VENV)/.for-use

$(VENV)/.for-bench: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$(EXTRA),test,bench]'
	@touch $@ $(VENV)/.for-use $(VENV)/.for-test
