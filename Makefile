# Every target makes the environment it needs; stamp files make the second run quick.

PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=
MUTATE_ARGS ?=
FUZZ_ARGS ?=
DOCS_ARGS ?=

VENV := .venv
BENCH := .venv-bench
SANITIZE := .venv-sanitize
NATIVE := CMakeLists.txt $(wildcard src/native/*.?pp src/native/*/*.?pp)

# What the engine makes no difference to, or is run by other tests with both, runs once.
ONCE := $(addprefix --ignore=tests/,cli files reports learning selection explanation mutation data \
  kernels/language kernels/validity kernels/tables test_check_estimator.py test_docs.py test_errors.py \
  test_front_door.py test_penalty.py test_readme.py test_values.py) \
  $(addprefix --ignore=tests/estimators/,logistic transformers svm/test_probabilities.py test_arguments.py \
  test_classifiers.py test_contract.py rows/test_ignored_columns.py rows/test_names.py \
  rows/test_single_precision.py rows/test_table_gaps.py rows/test_tables.py rows/test_text_columns.py) \
  -k "not contract_of_scikit_learn"

# What runs under the sanitizers: the tests that call native code on purpose.
SANITIZED ?= tests/native tests/tiles tests/gram tests/data $(wildcard tests/kernels/families/test_sequence*.py) \
  tests/estimators/rows/test_sequences.py tests/solvers/online/test_perceptron.py tests/solvers/margin/test_smo.py
# GCC's runtimes must be there before Python is. What Python never frees is no leak of ours.
CXX_FILE = $(shell $(CXX) -print-file-name=$(1))
WATCHED = LD_PRELOAD="$(call CXX_FILE,libasan.so) $(call CXX_FILE,libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# Tests run side by side, one on each core; threads of the BLAS would only wait for each other.
ALONE := OPENBLAS_NUM_THREADS=1

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start fresh interpreters, which read what Python has compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test peers lint docs fuzz sanitize bench mutate clean
.DELETE_ON_ERROR:
.SECONDARY:

help:
	@echo "make demo      fit, test and report a model of aqueous solubility, and predict with it"
	@echo "make test      run the tests, with the default engine and with the NumPy engine"
	@echo "make peers     run scikit-learn's own tests of its kernel machines against ours"
	@echo "make lint      run ruff, mypy, import-linter and codespell"
	@echo "make docs      build the site of guide, gallery and reference into build/docs"
	@echo "make fuzz      try a million mutated expressions on the parser, and as many model files"
	@echo "make sanitize  run the tests of native code with AddressSanitizer and UBSan"
	@echo "make bench     run the benchmarks side by side with the peers"
	@echo "make mutate    put small faults into the code and count those that the tests notice"
	@echo "make clean     remove environments, builds and caches"

demo: $(VENV)/.mercer
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e ".[io]"
	$(VENV)/bin/mercer demo

test: $(VENV)/.dev
	env -u MERCER_ENGINE $(ALONE) $(VENV)/bin/python -m pytest -n auto $(PYTEST_ARGS)
	MERCER_ENGINE=numpy $(ALONE) $(VENV)/bin/python -m pytest -n auto $(ONCE) $(PYTEST_ARGS)

peers: $(VENV)/.dev
	$(ALONE) $(VENV)/bin/python tests/peers/run.py

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/codespell

# A broken link, a script that fails and a docstring that cannot be read are errors.
docs: $(VENV)/.docs
	$(ALONE) $(VENV)/bin/python -m sphinx -q -W --keep-going -d build/doctrees $(DOCS_ARGS) docs build/docs
	@echo "build/docs/index.html"

mutate: $(VENV)/.dev
	$(VENV)/bin/python -m pip install -q setuptools wheel
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e ".[mutate]"
	$(ALONE) MPLBACKEND=agg $(VENV)/bin/python tests/mutation/run.py $(MUTATE_ARGS)

fuzz: $(VENV)/.dev
	$(VENV)/bin/python tests/fuzz_expression.py $(FUZZ_ARGS)
	$(VENV)/bin/python tests/fuzz_model_file.py $(FUZZ_ARGS)

sanitize: $(SANITIZE)/.sanitize
	env -u MERCER_ENGINE $(ALONE) $(WATCHED) $(SANITIZE)/bin/python -m pytest -n auto \
	  $(SANITIZED) $(PYTEST_ARGS)

bench: $(BENCH)/.bench
	$(BENCH)/bin/python benchmarks/run.py $(BENCH_ARGS)

clean:
	rm -rf $(VENV) $(BENCH) $(SANITIZE) build dist docs/generated
	rm -rf .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

%/.made:
	$(PYTHON) -m venv $*
	touch $@

# The build tools live in the environment, so that a changed C++ file rebuilds only itself.
%/.tools: pyproject.toml | %/.made
	$*/bin/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
	  > $*/build-requires.txt
	$*/bin/python -m pip install -q -r $*/build-requires.txt cmake ninja
	touch $@

$(VENV)/.mercer: $(NATIVE) $(VENV)/.tools
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.mercer
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e ".[test,lint]"
	touch $@

$(VENV)/.docs: $(VENV)/.mercer
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e ".[docs]"
	touch $@

$(SANITIZE)/.sanitize: $(NATIVE) $(SANITIZE)/.tools
	MERCER_REQUIRE_NATIVE=1 $(SANITIZE)/bin/python -m pip install -q --no-build-isolation \
	  --config-settings=build-dir=build/sanitize --config-settings=install.strip=false \
	  --config-settings=cmake.define.MERCER_SANITIZE=ON -e ".[test]"
	touch $@

# Benchmarks run what users run: a plain install, in an environment and a build folder of its own.
$(BENCH)/.bench: pyproject.toml $(NATIVE) $(shell find src/mercer -name '*.py') | $(BENCH)/.made
	$(BENCH)/bin/python -m pip install -q --config-settings=build-dir=build/bench ".[bench]"
	touch $@
