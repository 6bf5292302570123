# golden.<cpu>_<level>: builds and runs `golden` for every CPU, as tests of the host's build.
#
# The kernels are the SDK's own lanes at -Os on hosted CPUs, and on the cores that are tested at -Os alone; elsewhere they
# are Eigen's. size.footprint measures in the builds of bare-metal cores.
if(SOTTO_SANITIZE)
  return()
endif()

# sotto_golden(CPU LEVEL SCRIPT ARGUMENT...): ARGUMENT, what the script takes behind CPU and level.
function(sotto_golden cpu level script)
  string(REPLACE - _ name golden.${cpu}_${level})
  add_test(NAME ${name}
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${PROJECT_SOURCE_DIR} ${cpu} ${level} ${ARGN}
                   -DSOTTO_WARNINGS_AS_ERRORS=${SOTTO_WARNINGS_AS_ERRORS})
  set_tests_properties(${name} PROPERTIES LABELS golden COST 20 SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

foreach(cpu host aarch64 armhf)
  sotto_golden(${cpu} O2 golden/cross.sh -DSOTTO_SDK_UNITY=ON)
  sotto_golden(${cpu} Os golden/cross.sh -DSOTTO_SDK_UNITY=ON -DSOTTO_EIGEN=OFF)
endforeach()
# The compiler takes an M4F's instructions for an M7 and an M33, so that -O2 of one of them is enough.
foreach(core cortex-m3_O2 cortex-m3_Os cortex-m4_O2 cortex-m4_Os cortex-m7_Os cortex-m33_Os cortex-m55_O2
             cortex-m55_Os cortex-m0plus_Os rv32imac_Os rv32imafc_Os)
  string(REPLACE _ ";" cpu_level ${core})
  sotto_golden(${cpu_level} device/core.sh ${PROJECT_BINARY_DIR}/size)
  string(REPLACE - _ name golden.${core})
  list(APPEND sotto_core_tests ${name})
endforeach()
