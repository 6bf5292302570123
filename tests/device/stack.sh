#!/usr/bin/env bash
# stack.sh SOURCE_DIR IMAGES
# Bounds the stack of each core's firmware by its call graph, with softmax regression, with a
# convolutional net and over a frame link, and prints a line "CORE FIRMWARE BOUND of RESERVED" for each. Fails if the bound is above the reserved stack, if a recursion has no known depth, or if the
# size of a frame is not constant. Also shows that call_graph.py finds each fault that is planted for it.
# IMAGES is the folder in which board.sh has built the images.
# Skipped, 77, where a tool or an image is missing.
set -euo pipefail
source_dir="$1" images="$2"
for needed in arm-none-eabi-objdump /usr/bin/python3; do
  command -v "${needed}" > /dev/null || {
    echo "skipped: no ${needed}"
    exit 77
  }
done
[[ -f "${images}/cortex-m55/firmware" ]] || {
  echo "skipped: no ${images}/cortex-m55/firmware (board.images)"
  exit 77
}
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT

call_graph() { /usr/bin/python3 -B "${source_dir}/tests/device/call_graph.py" "$@"; }

# expect FAULT... < a program's text: call_graph.py says just this of it.
expect() {
  local status=0
  rm -rf "${work:?}"/*
  arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -Os -fno-exceptions -c -o "${work}/main.obj" -x c++ -
  arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb --specs=nano.specs -nostartfiles \
    -L "${source_dir}/ports/mps2/linker" -T an385.ld -o "${work}/main" "${work}/main.obj" \
    "${images}/cortex-m3/sotto/ports/mps2/libsotto_emulated_board.a"
  call_graph "${work}/main" "${work}" > "${work}/bound" 2> "${work}/faults" || status=$?
  printf '%s\n' "$@" | diff - "${work}/faults"
  ((status == 1))
}

for core in cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55; do
  folder="${images}/${core}"
  for firmware in firmware firmware_small_cnn firmware_frames; do
    [[ "${firmware}" != firmware_frames || "${core}" == cortex-m4 ]] || continue
    bound="$(call_graph "${folder}/${firmware}" "${folder}/CMakeFiles/${firmware}.dir" \
      "${folder}/sotto/sdk" "${folder}/sotto/ports")"
    echo "${core} ${firmware} ${bound}"
  done
done

expect 'recursion: Odd -> Even' << 'CPP'
int Odd(int n);
[[gnu::noipa]] int Even(int n) { return n == 0 ? 1 : 2 - Odd(n - 1); }
[[gnu::noipa]] int Odd(int n) { return n == 0 ? 0 : 1 + Even(n - 1); }
int main(int argc, char**) { return Odd(argc); }
CPP
expect 'recursion: Sum' << 'CPP'
[[gnu::noipa]] int Sum(int n) { return n < 2 ? n : Sum(n / 2) * Sum(n - 1); }
int main(int argc, char**) { return Sum(argc); }
CPP
expect 'a frame of a size that is not constant: main' << 'CPP'
[[gnu::noipa]] void Use(void*) {}
int main(int argc, char**) {
  Use(__builtin_alloca(static_cast<unsigned>(argc)));
  return 0;
}
CPP
expect 'a call through a pointer: main' 'stored, and called by nobody known: Called' << 'CPP'
[[gnu::noipa]] void Called() {}
void (*volatile pointer)() = Called;
int main(int argc, char**) {
  pointer();
  return argc;
}
CPP
expect 'more than is reserved' << 'CPP'
[[gnu::noipa]] void Use(void*) {}
int main(int argc, char**) {
  char bytes[8200];
  Use(bytes);
  return argc;
}
CPP
# The functions of layers count, and one that no pattern of calls.txt has is found.
expect 'more than is reserved' 'stored, and called by nobody known: sotto::nn::internal::WideBackward' << 'CPP'
namespace sotto::nn {
[[gnu::noipa]] void Use(void*) {}
namespace internal {
[[gnu::noipa]] void WideForward() {
  char bytes[8200];
  Use(bytes);
}
[[gnu::noipa]] void WideBackward() {}
}  // namespace internal
struct Walker {
  [[gnu::noipa]] void Forward() { functions[0](); }
  void (*volatile functions[2])() = {internal::WideForward, internal::WideBackward};
};
}  // namespace sotto::nn
sotto::nn::Walker walker;
int main(int argc, char**) {
  walker.Forward();
  return argc;
}
CPP
