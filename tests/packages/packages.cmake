# The packages of toolchains/package.py, used as their users use them: each is compiled for another CPU, and
# the update of examples/local_round is the same from all of them.
if(SOTTO_SANITIZE)
  return()
endif()

# sotto_package_test(NAME): tests/packages/NAME.sh.
function(sotto_package_test name)
  add_test(NAME packages.${name}
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/${name}.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/packages $<TARGET_FILE:sotto_cli>)
  set_tests_properties(packages.${name} PROPERTIES
                       LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 600 COST 30 FIXTURES_REQUIRED packages)
endfunction()

sotto_package_test(make)
set_tests_properties(packages.make PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP packages COST 200)
# Debian's packages, of this build's programs.
add_test(NAME packages.debian
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/debian.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/debian ${PROJECT_BINARY_DIR})
set_tests_properties(packages.debian PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 300
                     FIXTURES_SETUP debian_packages)
# Its packages, and its clean system, as an image.
add_test(NAME packages.container
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/container.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/container ${CMAKE_CURRENT_BINARY_DIR}/packages/debian
                 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(packages.container PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 900
                     FIXTURES_REQUIRED debian_packages)
# examples/tab, compiled once.
add_test(NAME packages.tab
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/tab.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/tab $<TARGET_FILE:sotto_cli>)
set_tests_properties(packages.tab PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 2400 COST 250)
add_test(NAME packages.release
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/release.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/release)
set_tests_properties(packages.release PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 300)
# The clients that the tests arm_linux.* have linked.
add_test(NAME packages.static_client
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/static_client.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/static_client $<TARGET_FILE:sotto_cli>)
set_tests_properties(packages.static_client PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 300
                     FIXTURES_REQUIRED arm_linux)
add_test(NAME packages.debian_arm
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/packages/debian_arm.sh ${PROJECT_SOURCE_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/packages/debian_arm ${PROJECT_BINARY_DIR})
set_tests_properties(packages.debian_arm PROPERTIES LABELS packages SKIP_RETURN_CODE 77 TIMEOUT 600
                     FIXTURES_REQUIRED arm_linux)
foreach(form arduino esp_idf fetch_content flat zephyr)
  sotto_package_test(${form})
endforeach()
