# make demo: run the main experiment and write its page.  make test: what a change has to pass, in eight minutes on two
# cores.  make everything: all there is, before a release.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SPEC := specs/xiong_fig3.yaml
# Types are checked beside the first tests: mypy has one core.
MAKEFLAGS += --jobs=2
# Processes that tests start share the compiled modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test everything lint types floors unit all-tests reports profiles coverage site reference index locks notebooks numbers error_rates keys golden mutants power size threads torture clean

demo: $(VENV)/.ready
	$(BIN)/lnlab run $(SPEC)
	$(BIN)/lnlab report $(SPEC)

test: lint types floors unit

# Half a day on two idle cores. LNLAB_DATA names the folder of the real text, without which its tests are skipped by name.
everything: lint types floors all-tests reports profiles site torture mutants

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

floors: $(VENV)/.ready
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --dist worksteal $(COVERAGE)

# Those marked nightly and torture as well: crossings, repeated grids, processes, kills at full size.
all-tests: $(VENV)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --dist worksteal -m "" -o faulthandler_timeout=3600

# Every committed report is drawn again to the same bytes.
reports: $(VENV)/.ready
	$(BIN)/lnlab verify --all --level 1 --quiet

# Every profile of every spec is right, and its smoke profile runs and has its page.
profiles: $(VENV)/.ready
	$(BIN)/python .ci/smoke.py specs/*.yaml

# The same tests, slower, and which lines none of them reached.
coverage: COVERAGE := --cov --cov-report=term
coverage: unit

# The documentation as a site, in build/site/html: guides, gallery, reference, API and reports. A warning or a broken link
# is an error. ADDRESS=https://... names where it will stand: then links to reports have pictures.
site: $(VENV)/.docs
	$(BIN)/python docs/site/build.py build/site $(ADDRESS)

# The JSON Schema for editors, made from the registries.
reference: $(VENV)/.ready
	$(BIN)/lnlab list --schema > specs/experiment.schema.json

# The page that leads to the committed reports, and the answers in the README.
index: $(VENV)/.ready
	$(BIN)/lnlab index reports --profile real --readme README.md

# The lock of every committed report: what it says, in one small file beside its spec.
locks: $(VENV)/.ready
	$(BIN)/lnlab lock --all

# The notebooks of docs/examples, one for each way into lnlab, with their outputs.
notebooks: $(VENV)/.ready
	$(BIN)/python .ci/notebooks.py docs/examples/door_*.ipynb

# The numbers of every registered piece on a tiny input; those that moved without a raised version are named, not kept.
numbers: $(VENV)/.ready
	$(BIN)/python -m tests.catalogue.renew

# What every spec would compute, as digests. A change that is meant to leave all results alone leaves them alone, too.
keys: $(VENV)/.ready
	$(BIN)/python -m tests.compile.spec_keys

# The sentences of the program as the tests of today hear them, in tests/golden: read the diff.
golden: $(VENV)/.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet -m "" --golden $$(grep -rlwE 'golden|console' tests --include=test_*.py)

# How often a verdict is wrong with the truth on the edge: the tables of docs/looks_and_margins.md.
error_rates: $(VENV)/.ready
	$(BIN)/python -m tests.claims.error_rates

# How much there is to read: statements in lnlab/, by package.
size: $(VENV)/.ready
	$(BIN)/python benchmarks/size.py

# Every fault of docs/faults.md, injected at full size: half an hour on two idle cores for stores and processes, and as
# long for the texts of specs; what was lost is printed.
torture: $(VENV)/.ready
	$(BIN)/python -m tests.torture --about runs --write docs/faults.md
	$(BIN)/python -m tests.torture --about specs --write docs/faults.md
	MUTATIONS=1000 $(BIN)/python -m pytest tests/cli/test_lock.py -k mutations

# Which wrong signs, comparisons and numbers the tests notice, of a sample: two hours on two idle cores. What was tried
# stands in build/mutants.jsonl, and is not tried again.
mutants: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[mutants]'
	mkdir -p build
	$(BIN)/python benchmarks/mutation.py build/mutants.jsonl

# Which forgeries each level of `lnlab verify` catches, and which faults level 2 on another machine, by kind of quantity:
# the tables of docs/verification_power.md. The first is written there, the second is printed.
power: $(VENV)/.ready
	$(BIN)/python -m tests.support.forgeries
	$(BIN)/python benchmarks/verification_power.py .lnlab/power 200

# Whether `lnlab verify --level 2` alarms with other threads and instructions: the other table of docs/verification_power.md.
threads: $(VENV)/.ready
	$(BIN)/python benchmarks/verification_threads.py specs/rezero_jacobian.lock

# torch first and under the constraints, so that no other package chooses a build of it.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,families]'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps timm pyhessian \
		lightning lightning-utilities pytorch-lightning torchmetrics
	touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist .lnlab .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
