#!/usr/bin/env bash
# other_formats.sh SOURCE_DIR WORK_DIR BIN_DIR
# The scripts of server/YOUR_DATA.md, "Other formats", as they stand there: each turns a small file into one that
# `sotto data show` reads as the same samples. A script whose modules are not installed is named and left out; 77, skipped,
# without those that Debian has. PYTHON names another Python than /usr/bin/python3.
set -euo pipefail
bin="$3" python="${PYTHON:-/usr/bin/python3}"
# shellcheck disable=SC2034  # read by pages.sh
source_dir="$1"
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# shellcheck source-path=SCRIPTDIR source=../policy/pages.sh
source "$1/tests/policy/pages.sh"
write_page_files server/YOUR_DATA.md blocks || {
  echo "FAILED: a file of the page has no name"
  exit 1
}

has_modules() { "${python}" -c "import ${1// /, }" 2> /dev/null; }

# expect SOURCE LINE PARTITION...: a line of what `sotto data show` says of it.
expect() {
  "${bin}/sotto" data show "$1" --first 1 "${@:3}" > says.txt 2>&1 || true
  grep -xF -e "$2" says.txt || {
    echo "FAILED: expected: $2; but:"
    cat says.txt
    exit 1
  }
}

found=0
# script NAME "MODULE...": whether it can run here.
script() {
  [[ -f "$1" ]] || {
    echo "FAILED: the page has no $1"
    exit 1
  }
  has_modules "$2" || {
    echo "not run: $1: Python lacks one of: $2"
    return 1
  }
  found=$((found + 1))
}

if script from_hdf5.py 'h5py numpy'; then
  "${python}" - << 'END'
import h5py, numpy
with h5py.File("data.h5", "w") as file:
    file["sensors/windows"] = numpy.arange(40 * 16 * 3, dtype="f4").reshape(40, 16, 3)
    file["activity"] = [["walk", "run"][i % 2] for i in range(40)]
    file["person"] = numpy.arange(40) // 10
END
  "${python}" from_hdf5.py data.h5 hdf5.npz x=sensors/windows y=activity group=person
  expect hdf5.npz:group=group 'hdf5.npz: 36 training samples of 16 x 3, 2 classes, 4 groups' --partition group
fi

if script from_images.py 'PIL numpy'; then
  "${python}" - << 'END'
import os
from PIL import Image
for i in range(20):
    folder = ("photos/cat", "photos/dog")[i % 2]
    os.makedirs(folder, exist_ok=True)
    Image.new("RGB", (40, 30), (i, 2 * i, 255)).save(f"{folder}/{i}.png")
END
  "${python}" from_images.py photos photos.npz 16 8
  expect photos.npz 'photos.npz: 18 training samples of 8 x 16 x 3, 2 classes' --samples-per-device 9
fi

debians="${found}"
if script from_parquet.py 'pandas pyarrow'; then
  "${python}" - << 'END'
import pandas
frame = pandas.DataFrame({"x": range(20), "who": [i // 5 for i in range(20)], "label": [i % 2 for i in range(20)]})
frame.to_parquet("data.parquet")
frame.to_feather("data.feather")
END
  for file in data.parquet data.feather; do
    "${python}" from_parquet.py "${file}" table.csv
    expect table.csv:group=who 'table.csv: 18 training samples of 1, 2 classes, 4 groups' --partition group
  done
fi

if script from_torch.py 'torch numpy'; then
  "${python}" - << 'END'
import torch
torch.save({"x": torch.arange(40.0).reshape(20, 2), "y": torch.arange(20) % 2}, "data.pt")
END
  "${python}" from_torch.py data.pt torch.npz
  expect torch.npz 'torch.npz: 18 training samples of 2, 2 classes' --samples-per-device 9
fi

((debians == 2)) || {
  echo 'skipped: no python3-h5py or no python3-pil'
  exit 77
}
