# Arm Cortex-M, bare metal, with the distribution's arm-none-eabi GCC and newlib.
# Choose the core with -DSOTTO_CPU=cortex-m0plus|cortex-m3|cortex-m4|cortex-m7|cortex-m33|cortex-m55.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SOTTO_CPU)

set(SOTTO_CPU "cortex-m4" CACHE STRING "Cortex-M core")
set(sotto_fpu_cortex-m0plus "-mfloat-abi=soft")
set(sotto_fpu_cortex-m3 "-mfloat-abi=soft")
set(sotto_fpu_cortex-m4 "-mfpu=fpv4-sp-d16 -mfloat-abi=hard")
set(sotto_fpu_cortex-m7 "-mfpu=fpv5-d16 -mfloat-abi=hard")
set(sotto_fpu_cortex-m33 "-mfpu=fpv5-sp-d16 -mfloat-abi=hard")
set(sotto_fpu_cortex-m55 "-mfloat-abi=hard")
if(NOT DEFINED sotto_fpu_${SOTTO_CPU})
  message(FATAL_ERROR "SOTTO_CPU=${SOTTO_CPU} is not known; use cortex-m0plus, m3, m4, m7, m33 or m55")
endif()

set(sotto_arm_flags "-mcpu=${SOTTO_CPU} -mthumb ${sotto_fpu_${SOTTO_CPU}}")
set(CMAKE_C_FLAGS_INIT "${sotto_arm_flags} -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${sotto_arm_flags} -ffunction-sections -fdata-sections")
# QEMU's board for the core, with the program's text on standard error and its exit status. An M3 runs the programs of
# the M0+: it has all of its instructions.
set(sotto_machine_cortex-m0plus mps2-an385)
set(sotto_machine_cortex-m3 mps2-an385)
set(sotto_machine_cortex-m4 mps2-an386)
set(sotto_machine_cortex-m7 mps2-an500)
set(sotto_machine_cortex-m33 mps2-an505)
set(sotto_machine_cortex-m55 mps3-an547)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M ${sotto_machine_${SOTTO_CPU}} -display none
    -monitor none -serial none -semihosting-config enable=on,target=native -kernel)

set(CMAKE_EXE_LINKER_FLAGS_INIT "--specs=nano.specs -nostartfiles -Wl,--gc-sections")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
