# To be sourced: builds a test program for another CPU, and says what runs it.
# shellcheck shell=bash

# Tested and measured at -Os alone, and with the SDK's own lanes.
SMALL_CORES=(cortex-m0plus rv32imac rv32imafc)

is_small_core() { [[ " ${SMALL_CORES[*]} " == *" $1 "* ]]; }

# toolchain_of CORE: the name of its toolchain file.
toolchain_of() {
  case "$1" in
    cortex-*) echo arm-none-eabi.cmake ;;
    rv32*) echo riscv32-unknown-elf.cmake ;;
  esac
}

# set_qemu CORE: sets qemu to the command that runs a program on the core's board; -serial and -kernel are left
# to the caller.
set_qemu() {
  local -A machines=([cortex-m0plus]=mps2-an385 [cortex-m3]=mps2-an385 [cortex-m4]=mps2-an386
    [cortex-m7]=mps2-an500 [cortex-m33]=mps2-an505 [cortex-m55]=mps3-an547)
  case "$1" in
    cortex-*) qemu=(qemu-system-arm -M "${machines[$1]}") ;;
    rv32*) qemu=(qemu-system-riscv32 -M virt -bios none) ;;
  esac
  qemu+=(-display none -semihosting-config "enable=on,target=native")
}

# missing_for PRESET: prints what is missing to build the preset and to run its programs.
missing_for() {
  local compiler emulator name
  case "$1" in
    host) return ;;
    aarch64) compiler=aarch64-linux-gnu-g++ emulator=qemu-aarch64 ;;
    armhf) compiler=arm-linux-gnueabihf-g++ emulator=qemu-arm ;;
    cortex-*) compiler=arm-none-eabi-g++ emulator=qemu-system-arm ;;
    rv32*) compiler=riscv64-unknown-elf-g++ emulator=qemu-system-riscv32 ;;
  esac
  for name in "${compiler}" "${emulator}"; do
    command -v "${name}" > /dev/null || echo "${name}"
  done
  for name in mbedtls-2.28 nanopb-0.4.7; do
    [[ -d "build/cache/${name}" ]] || echo "build/cache/${name} (toolchains/fetch-source.sh)"
  done
}

# set_level LEVEL: sets level_options to CMake's for -O2 or -Os (LEVEL: O2, Os).
set_level() {
  case "$1" in
    O2) level_options=(-DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG'
      '-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG') ;;
    Os) level_options=(-DCMAKE_BUILD_TYPE=MinSizeRel) ;;
  esac
}

# build_for PRESET LEVEL FOLDER TARGET [CMAKE_OPTION...]: from the source folder.
build_for() {
  local folder="$3" level_options
  set_level "$2"
  cmake --preset "$1" -B "${folder}" -DSOTTO_SERVER=OFF -DSOTTO_CLIENT=OFF -DSOTTO_DEVICE_TESTS=ON \
    "${level_options[@]}" "${@:5}"
  cmake --build "${folder}" --target "$4" --parallel 1
}

# configure_core CORE LEVEL WORK_DIR [CMAKE_OPTION...]: WORK_DIR/CORE-LEVEL, where core.sh tests and table.sh measures.
configure_core() {
  local level_options
  set_level "$2"
  ! is_small_core "$1" || level_options+=(-DSOTTO_EIGEN=OFF -DSOTTO_INSECURE_ENTROPY=ON)
  cmake -S tests/size -B "$3/$1-$2" -G Ninja --toolchain "${PWD}/toolchains/$(toolchain_of "$1")" \
    "-DSOTTO_CPU=$1" "${level_options[@]}" "${@:4}"
}
