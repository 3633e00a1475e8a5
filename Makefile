# Everything from nothing: python3 (3.11 or newer) and make are all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all lint format docs campaign hashes sbom package release clean

demo: $(VENV)/.installed
	$(BIN)/passband demo --overwrite

test: lint
	$(BIN)/pytest -rs

test-all: lint
	PASSBAND_TESTS=all $(BIN)/pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests benchmarks website
	$(BIN)/ruff format --check src tests benchmarks website
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix src tests benchmarks website
	$(BIN)/ruff format src tests benchmarks website

docs: $(VENV)/.installed-docs
	$(BIN)/python website/build.py
	$(BIN)/python website/check.py

campaign: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/campaign.py

hashes: $(VENV)/.installed
	$(BIN)/python release/hashes.py > release/requirements.new
	mv release/requirements.new release/requirements.txt

sbom: $(VENV)/.installed
	mkdir -p dist
	$(BIN)/python release/sbom.py > dist/sbom.json

package: $(VENV)/.installed-dev
	rm -rf build/dist
	$(BIN)/python -m hatchling build -d build/dist
	$(BIN)/python release/check.py build/dist --install

release:
	$(PYTHON) -m venv build/venv
	build/venv/bin/python -m pip install --quiet --require-hashes --no-deps -r release/requirements.txt
	build/venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache
