# 32-bit RISC-V, bare metal, with the distribution's riscv64-unknown-elf GCC and picolibc.
# Choose the core with -DSOTTO_CPU=rv32imac|rv32imafc.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SOTTO_CPU)

set(SOTTO_CPU "rv32imac" CACHE STRING "RISC-V core")
set(sotto_abi_rv32imac ilp32)
set(sotto_abi_rv32imafc ilp32f)
if(NOT DEFINED sotto_abi_${SOTTO_CPU})
  message(FATAL_ERROR "SOTTO_CPU=${SOTTO_CPU} is not known; use rv32imac or rv32imafc")
endif()

# A core may trap where a word is not aligned, and take hundreds of cycles then.
set(sotto_riscv_flags "-march=${SOTTO_CPU} -mabi=${sotto_abi_${SOTTO_CPU}} -mstrict-align --specs=picolibc.specs")

# Debian 12's compiler comes without the headers of the C++ standard library. Its Arm compiler's serve, if both have one
# version: the SDK takes from them what needs no library.
separate_arguments(sotto_arguments UNIX_COMMAND "${sotto_riscv_flags} -x c++ -E -include type_traits /dev/null")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${sotto_arguments}
                RESULT_VARIABLE sotto_lacks_headers OUTPUT_QUIET ERROR_QUIET)
set(sotto_cxx_flags "${sotto_riscv_flags}")
if(NOT sotto_lacks_headers EQUAL 0)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -dumpversion OUTPUT_VARIABLE sotto_gcc OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE sotto_lacks_compiler ERROR_QUIET)
  if(NOT sotto_lacks_compiler EQUAL 0)
    message(FATAL_ERROR "No ${CMAKE_CXX_COMPILER} (Debian: gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf)")
  endif()
  string(REGEX MATCH "^[0-9]+" sotto_gcc "${sotto_gcc}")
  file(GLOB sotto_config_header
       /usr/include/newlib/c++/${sotto_gcc}.*/riscv64-unknown-elf/${SOTTO_CPU}/${sotto_abi_${SOTTO_CPU}}/bits/c++config.h
       /usr/lib/arm-none-eabi/include/c++/${sotto_gcc}.*/arm-none-eabi/bits/c++config.h)
  if(NOT sotto_config_header)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} ${sotto_gcc} has no C++ headers (Debian 12: libstdc++-arm-none-eabi-newlib; "
                        "Debian 13: libstdc++-riscv64-unknown-elf-dev)")
  endif()
  list(GET sotto_config_header 0 sotto_config_header)
  string(REGEX MATCH "^.*/c[+][+]/[^/]*" sotto_cxx_headers ${sotto_config_header})
  string(REPLACE "/bits/c++config.h" "" sotto_config_folder ${sotto_config_header})
  string(APPEND sotto_cxx_flags " -isystem ${sotto_cxx_headers} -isystem ${sotto_config_folder}")
endif()

set(CMAKE_C_FLAGS_INIT "${sotto_riscv_flags} -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${sotto_cxx_flags} -ffunction-sections -fdata-sections")
# Where size counts, functions save their registers by calls: 6 % less.
set(CMAKE_C_FLAGS_MINSIZEREL_INIT -msave-restore)
set(CMAKE_CXX_FLAGS_MINSIZEREL_INIT -msave-restore)
# QEMU's machine, with the program's text on standard error and its exit status.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-riscv32 -M virt -bios none -display none -monitor none -serial none
    -semihosting-config enable=on,target=native -kernel)

# Without a startup of picolibc's and without a C++ library, of which nothing is linked.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -Wl,--gc-sections")
set(CMAKE_C_STANDARD_LIBRARIES "-Wl,--start-group -lc -lgcc -Wl,--end-group")
set(CMAKE_CXX_STANDARD_LIBRARIES "${CMAKE_C_STANDARD_LIBRARIES}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
