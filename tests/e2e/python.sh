#!/usr/bin/env bash
# python.sh SOURCE_DIR WORK_DIR BIN_DIR
# The Python package of toolchains/package/python: the wheel is built and installed into a virtual environment, where
# its page, its notebook and its checks run on the programs of BIN_DIR. Skipped, 77, without pip, setuptools, wheel or
# NumPy; parts that need pandas or Fashion-MNIST are left out by name where these are not installed.
set -euo pipefail
source_dir="$1" work="$2" bin="$3" python=/usr/bin/python3
for module in pip setuptools wheel numpy; do
  "${python}" -c "import ${module}" 2> /dev/null || {
    echo "skipped: ${python} lacks ${module} (package python3-${module})"
    exit 77
  }
done
rm -rf "${work}"
mkdir -p "${work}"
cp -r "${source_dir}/toolchains/package/python" "${work}/source"
cd "${work}"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "${source_dir}/tests/policy/pages.sh"

fail() {
  echo "FAILED: $*"
  exit 1
}

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PYTHONDONTWRITEBYTECODE=1
"${python}" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir wheels ./source
[[ "$(echo wheels/*)" == wheels/sotto-*-py3-none-any.whl ]] || fail "the wheel is not one of pure Python: $(echo wheels/*)"
"${python}" -m venv --system-site-packages --without-pip environment
environment/bin/python -m pip install --quiet --no-deps wheels/*.whl
environment/bin/python -c 'import sotto, sys; sys.exit(not sotto.__file__.startswith(sys.prefix))' ||
  fail 'the package is not the installed one'

export SOTTO_PROGRAM="${bin}/sotto"
environment/bin/python "${source_dir}/tests/e2e/python_package.py" -v || fail 'tests/e2e/python_package.py'

# The wheel with the programs, in an environment that nobody activates, where no other program is in the way.
SOTTO_BUILD="$(dirname "${bin}")" "${source_dir}/toolchains/package/wheel.sh" whole > /dev/null
"${python}" -m venv --system-site-packages --without-pip alone
alone/bin/python -m pip install --quiet --no-deps whole/sotto-*-py3-none-*linux*.whl
env -i PATH=/usr/bin:/bin alone/bin/python -c '
import sotto
run = sotto.simulate(data="synthetic", devices=50, rounds=2, seed=1)
sotto.account.epsilon(sampling="none", noise_multiplier=9, rounds=1, delta=1e-5)
print(run.accuracy)' > alone.txt 2> alone.log || { cat alone.log; fail 'the wheel with the programs'; }
(unset SOTTO_PROGRAM && PATH="${work}/alone/bin:${PATH}" && [[ "$(command -v sotto)" == "${work}/alone/bin/sotto" ]] &&
  sotto --version > /dev/null && sotto-lab --version > /dev/null) || fail 'the programs of the wheel'

if ! "${python}" -c 'import pandas' 2> /dev/null; then
  echo 'not run: README.md and the notebook: no pandas (package python3-pandas)'
  exit 0
fi
# The page's blocks are one session, as somebody types them.
extract_blocks toolchains/package/python/README.md blocks
find blocks -name '*.python' | sort -V | xargs cat > page.py
[[ -s page.py ]] || fail 'the page has no python block'
environment/bin/python page.py > output.txt || fail 'the blocks of toolchains/package/python/README.md'
# What a print() shows stands behind it.
sed -nE 's/^ *print\(.*\) +# //p' page.py > said.txt
[[ -s said.txt ]] || fail 'the page says of no print() what it shows'
while IFS= read -r line; do
  grep -qxF -e "${line}" output.txt || fail "the page's print() does not show: ${line}"
done < said.txt

if [[ ! -d /usr/share/datasets/fashion-mnist ]]; then
  echo 'not run: the notebook: no Fashion-MNIST (package dataset-fashion-mnist)'
  exit 0
fi
environment/bin/python "${source_dir}/tests/e2e/notebook.py" "${source_dir}/toolchains/package/python/readme.ipynb" ||
  fail 'the notebook'
