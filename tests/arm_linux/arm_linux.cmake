# arm_linux.<cpu>: sotto-client built for 64-bit and 32-bit Arm Linux, and for 32 bits the SDK's tests, which run
# under QEMU; arm_linux_fleet_test: those clients in a live fleet. One CPU takes Mbed TLS 3.6, the
# other 2.28.
if(SOTTO_SANITIZE)
  return()
endif()
set(sotto_mbedtls_aarch64 mbedtls-3.6)
set(sotto_mbedtls_armhf mbedtls-2.28)
foreach(cpu aarch64 armhf)
  add_test(NAME arm_linux.${cpu}
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/arm_linux/cross.sh ${PROJECT_SOURCE_DIR} ${cpu}
                   ${sotto_mbedtls_${cpu}} -DSOTTO_WARNINGS_AS_ERRORS=${SOTTO_WARNINGS_AS_ERRORS})
  set_tests_properties(arm_linux.${cpu} PROPERTIES LABELS arm-linux SKIP_RETURN_CODE 77 TIMEOUT 1800
                       COST 250 FIXTURES_SETUP arm_linux)
endforeach()

find_program(SOTTO_QEMU_AARCH64 qemu-aarch64 DOC "QEMU for programs of 64-bit Arm Linux")
find_program(SOTTO_QEMU_ARMHF qemu-arm DOC "QEMU for programs of 32-bit Arm Linux")
sotto_gtest(arm_linux_fleet_test
  LIBRARIES sotto::server
  SOURCES e2e/live.cc arm_linux/fleet_test.cc
  DRIVES sotto_cli sotto_client
  LABEL arm-linux PROPERTIES FIXTURES_REQUIRED arm_linux)
target_compile_definitions(arm_linux_fleet_test PRIVATE
  SOTTO_PROGRAM="$<TARGET_FILE:sotto_cli>" SOTTO_CLIENT_PROGRAM="$<TARGET_FILE:sotto_client>"
  SOTTO_QEMU_AARCH64="${SOTTO_QEMU_AARCH64}" SOTTO_QEMU_ARMHF="${SOTTO_QEMU_ARMHF}")
