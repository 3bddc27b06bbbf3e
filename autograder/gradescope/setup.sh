#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image; it may use the network here.
# Choose Ubuntu 24.04 there. An older one has too old a Python, and gets one from a PPA.
set -euo pipefail

source=/autograder/source/course
course=/opt/transformer-course
export DEBIAN_FRONTEND=noninteractive

fits() {
  command -v "$1" >/dev/null && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

apt-get update
apt-get install --yes --no-install-recommends make python3 python3-venv
python=python3
if ! fits "$python"; then
  apt-get install --yes --no-install-recommends software-properties-common
  add-apt-repository --yes ppa:deadsnakes/ppa
  apt-get install --yes --no-install-recommends python3.12 python3.12-venv
  python=python3.12
fi

# The grader stands where a student's process may see it; the tests stay in /autograder.
mkdir -p "$course"
cp -R "$source/." "$course"
# The same packages as everywhere: bubblewrap, libseccomp2, and the versions of constraints.txt.
make -C "$course" system tools PYTHON="$python" VENV="$course/.venv" EXTRAS=author,grade,colab \
  TORCH_INDEX=https://download.pytorch.org/whl/cpu PIP_NO_CACHE_DIR=1
chmod -R a+rX "$course"

# Better a build that fails than a class that is not graded.
cd "$course"
.venv/bin/python -c 'import autograder.gradescope.run'
