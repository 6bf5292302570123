# Rules of the house that a compiler does not check. Plain builds only: a sanitizer changes neither
# the sources nor, in a way that matters, the symbols.
include(${CMAKE_CURRENT_LIST_DIR}/../e2e/e2e.cmake)
if(SOTTO_SANITIZE)
  return()
endif()

# sotto_policy(name script argument...): a bash script of this folder; exit status 77 is "skipped".
function(sotto_policy name script)
  add_test(NAME policy.${name}
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/policy/${script} ${ARGN})
  set_tests_properties(policy.${name} PROPERTIES LABELS policy SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()

set(sotto_policy_work ${CMAKE_CURRENT_BINARY_DIR}/policy)
find_program(SOTTO_ARM_NM arm-none-eabi-nm DOC "nm for the bare-metal build's archive")

sotto_policy(sdk_symbols sdk_symbols.sh ${CMAKE_NM} $<TARGET_FILE:sotto_sdk> ${PROJECT_SOURCE_DIR})
sotto_policy(sdk_symbols_cortex_m4 sdk_symbols.sh ${SOTTO_ARM_NM}
             ${PROJECT_SOURCE_DIR}/build/cortex-m4/sdk/libsotto_sdk.a ${PROJECT_SOURCE_DIR})
sotto_policy(linked_kinds linked_kinds.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/linked_kinds
             ${CMAKE_CXX_COMPILER} ${CMAKE_NM} $<TARGET_FILE:sotto_sdk>)
sotto_policy(self_test self_test.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/self_test
             ${CMAKE_CXX_COMPILER} $<TARGET_FILE:sotto_sdk> $<TARGET_FILE:sotto::mbedcrypto>)
sotto_policy(headers headers.sh ${PROJECT_SOURCE_DIR})
sotto_policy(standard_headers standard_headers.sh ${PROJECT_SOURCE_DIR})
sotto_policy(layering layering.sh ${PROJECT_SOURCE_DIR})
sotto_policy(walks walks.sh ${PROJECT_SOURCE_DIR})
sotto_policy(net_messages net_messages.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})
sotto_policy(format format.sh ${PROJECT_SOURCE_DIR})
sotto_policy(phrases phrases.sh ${PROJECT_SOURCE_DIR})
sotto_policy(lrq_tables lrq_tables.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/lrq_tables)
sotto_policy(protocol_tables protocol_tables.sh ${PROJECT_SOURCE_DIR}
             ${sotto_policy_work}/protocol_tables)
sotto_policy(shell_scripts shell_scripts.sh ${PROJECT_SOURCE_DIR})
sotto_policy(page_blocks page_blocks.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/page_blocks
             ${CMAKE_CXX_COMPILER})
sotto_policy(page_commands page_commands.sh ${PROJECT_SOURCE_DIR}
             ${sotto_policy_work}/page_commands $<TARGET_FILE:sotto_cli> $<TARGET_FILE:sotto_lab>
             $<TARGET_FILE:sotto_client> $<TARGET_FILE:sotto_shard> $<TARGET_FILE:sotto_gateway>)
# Trains and serves: minutes on a loaded machine.
set_tests_properties(policy.page_commands PROPERTIES TIMEOUT 900 COST 100)
set_tests_properties(policy.standard_headers PROPERTIES COST 30)
sotto_policy(page_paths page_paths.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/page_paths)
sotto_policy(page_numbers page_numbers.sh ${PROJECT_SOURCE_DIR})
sotto_policy(models_table models_table.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:sotto_cli>)
sotto_policy(page_statuses page_statuses.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:sotto_cli>
             $<TARGET_FILE:sotto_lab> $<TARGET_FILE:sotto_client> $<TARGET_FILE:sotto_gateway>)
sotto_policy(porting_project porting_project.sh ${PROJECT_SOURCE_DIR}
             ${sotto_policy_work}/porting_project)
sotto_policy(security_page security_page.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/security_page)
sotto_policy(toml_files toml_files.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/toml_files)
sotto_policy(systemd_unit systemd_unit.sh ${PROJECT_SOURCE_DIR} ${sotto_policy_work}/systemd_unit
             ${PROJECT_BINARY_DIR})
sotto_policy(version version.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${PROJECT_VERSION}
             $<TARGET_FILE:sotto_cli> $<TARGET_FILE:sotto_client>)
if(SOTTO_SERVER)
  sotto_policy(research research.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${sotto_policy_work}/research
               ${CMAKE_CXX_COMPILER})
endif()
sotto_policy(install install.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
             ${sotto_policy_work}/install ${CMAKE_COMMAND} ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
