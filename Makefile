# What a newcomer types: make demo, make test, make check. Each sets up what it needs.
PY := .venv/bin/python
# Many tests wait for servers and kills: two at a time take half as long.
PYTEST_ARGS ?= -n 2 --dist loadgroup
# Hundreds of tests start a command, and without byte code each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# Kept outside the checkout: in a fresh clone on the same machine mypy reads again only what changed, which takes a
# twentieth of the time. It tells by the hashes of the files.
export MYPY_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ragassay-mypy

.PHONY: setup demo test test-fast test-local test-frameworks test-instrumentors test-engines soak check docs site bench lock clean

setup: .venv/.ready

.venv/.ready: pyproject.toml requirements.lock tools/uv.lock tools/setup.sh
	sh tools/setup.sh
	touch $@

.venv/.browser: tools/browser.sh | .venv/.ready
	sh tools/browser.sh
	touch $@

demo: setup
	.venv/bin/ragassay demo --html report.html

test: setup .venv/.browser
	$(PY) -m pytest $(PYTEST_ARGS)

# The quick tests: no commands, servers, clusters or browsers, and a sixth of the examples of each property.
test-fast: setup
	$(PY) -m pytest -n 2 -m "not slow and not soak" --hypothesis-profile=quick

# An environment in the folder of the target, which sees what is installed in .venv. A line of a .pth file that names a
# folder does not read the .pth files in it, one of which is the editable install of the project: addsitedir does.
define BESIDE
$(PY) -m venv $(@D)
$(PY) -c "import site; print(f'import site; site.addsitedir({site.getsitepackages()[0]!r})')" > $$(ls -d $(@D)/lib/python3*/site-packages)/project.pth
endef

# Local models in safetensors, with PyTorch, which is too large (over 1 GB) for the environment of the
# other tests: an environment beside it, which sees what is installed there.
build/local/.ready: pyproject.toml | .venv/.ready
	$(BESIDE)
	build/local/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0 transformers==5.23.0
	touch $@

test-local: build/local/.ready
	build/local/bin/python -m pytest -n 0 tests/models_local

# The examples of five frameworks at pinned versions, likewise in an environment beside the others.
build/frameworks/.ready: examples/frameworks/requirements.txt | .venv/.ready
	$(BESIDE)
	build/frameworks/bin/python -m pip install -q --disable-pip-version-check -r examples/frameworks/requirements.txt
	touch $@

test-frameworks: build/frameworks/.ready
	build/frameworks/bin/python -m pytest -n 0 tests/frameworks

# Applications that real instrumentors watch, at pinned versions, and the rows that come of their spans.
build/instrumentors/.ready: tests/instrumentors/requirements.txt | .venv/.ready
	$(BESIDE)
	build/instrumentors/bin/python -m pip install -q --disable-pip-version-check -r tests/instrumentors/requirements.txt
	touch $@

test-instrumentors: build/instrumentors/.ready
	$(PY) -m pytest -n 0 tests/instrumentors

# The engines of other packages, which bring a hundred packages with them, in an environment of their own.
build/engines/.ready: pyproject.toml | .venv/.ready
	$(BESIDE)
	build/engines/bin/python -m pip install -q --disable-pip-version-check 'dspy>=3.4' 'textgrad>=0.1.8'
	touch $@

test-engines: build/engines/.ready
	build/engines/bin/python -m pytest -n 0 tests/tuning/engines

# The heavier doses of the fault and fuzzing suites (hours), recorded in benchmarks/results.
soak: setup .venv/.browser test-local test-frameworks test-instrumentors test-engines
	$(PY) -m pytest -n 2 --dist loadgroup -m soak
	$(PY) -m pytest -n 2 -m "not slow and not soak" --hypothesis-profile=searching
	$(PY) benchmarks/hardening/run.py --dose nightly
	$(PY) benchmarks/providers/soak.py

check: setup
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	$(PY) tools/plain_code.py src
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/deptry src

# Pages that come from the code: metrics, names in other tools, error codes.
docs: setup
	$(PY) tools/write_docs.py

# The documentation as a site in build/site: plain files, to be opened or served by anything.
site: setup
	$(PY) tools/build_site.py

# Every figure of benchmarks/results, one after the other (about an hour; needs the labelled data and the common bench beside the project).
bench: setup
	for one in benchmarks/*/run.py; do $(PY) $$one || exit 1; done

# The lock file holds hashes and no addresses, so that any mirror serves; and the extras of packages, without which
# pip 23 takes the newest release for one and refuses it for its hash.
lock:
	uv pip compile pyproject.toml --extra arrow --extra prices --extra postgres --extra ray --extra server --extra grpc --extra documents --extra gepa --group dev --universal --python-version 3.11 --no-strip-extras \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --output-file requirements.lock
	echo uv | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --output-file tools/uv.lock

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist report.html
