# make lab     set everything up (first time: 0.5 GB of downloads) and open the course
# make test    set everything up, then lint and run all tests, the lessons and solutions included
# more: setup, lint, record, exercises, lessons, lock, clean        (another Python: make lab PYTHON=python3.12)
.POSIX:
.PHONY: lab setup test lint record exercises lessons lock clean

PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
ROUTE = notebooks/00_orientation.ipynb
NOTEBOOKS = find notebooks solutions -name '*.ipynb' -not -path '*/.*' | sort
PIP = $(BIN)/python -m pip --disable-pip-version-check

lab: setup
	@$(BIN)/ws-course doctor || echo "The lessons can be read here; kernels run once the lines with a cross are mended."
	@if [ "$$(id -u)" = 0 ]; then root=--allow-root; else root=; fi; \
		PATH="$$PWD/$(BIN):$$PATH"; export PATH; \
		exec $(BIN)/jupyter lab $$root --LabApp.default_url=/lab/tree/$(ROUTE)

setup: $(VENV)/.ready

test: setup
	@$(BIN)/ws-course doctor
	$(MAKE) lint
	@# two files at a time; one at a time where there is a GPU, since another test would spoil what is timed
	jobs=$$($(BIN)/python -c 'from ws_course.device import has_gpu; print(0 if has_gpu() else 2)'); \
		$(BIN)/python -m pytest -n $$jobs --dist loadfile --nbval --nbval-cell-timeout=120 tests $$($(NOTEBOOKS))

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# measures the kernels on this machine's GPU and writes ws_course/bench/records/
record: setup
	$(BIN)/ws-course record

# writes exercises/ from solutions/
exercises: setup
	$(BIN)/ws-course exercises

# runs the lessons from top to bottom and stores what they print and draw; widgets are stored as pictures
lessons: setup
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False \
		--NotebookExporter.preprocessors=ws_course.widgets.freeze.Freeze \
		$$(find notebooks -name '*.ipynb' -not -path '*/.*' | sort)

# resolves pyproject.toml anew; the lock names versions and hashes, never where they came from
lock: setup
	$(PIP) install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --upgrade --generate-hashes --no-emit-index-url \
		--no-header --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# two stamps, so that a second run is instant and an edit of pyproject.toml does not install everything again
$(VENV)/.ready: $(VENV)/.locked pyproject.toml
	$(PIP) install -q --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.locked: requirements.lock
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "There is no $(PYTHON). Install Python 3.11 or newer (Debian, Ubuntu: sudo apt-get install python3" \
			"python3-venv; Fedora: sudo dnf install python3), or name yours: make $(MAKECMDGOALS) PYTHON=python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$$($(PYTHON) --version) is too old: the course needs Python 3.11 or newer." \
			"Install one and name it: make $(MAKECMDGOALS) PYTHON=python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "$(PYTHON) lacks the venv module. Debian, Ubuntu: sudo apt-get install python$$version-venv"; \
		exit 1; }
	@echo "Setting up $(VENV): the first time takes some minutes: 0.5 GB of downloads, 1.7 GB on disk."
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --require-hashes -r requirements.lock
	@touch $@
