# sotto_emulated_board(LINKER_FOLDER SCRIPT FILE...): sotto::emulated_board, the port of a board that QEMU emulates,
# without an operating system: the board's own files, and what all these boards have in common.
option(SOTTO_INSECURE_ENTROPY
       "INSECURE, for tests: entropy that can be guessed; the emulated boards have no other" OFF)

function(sotto_emulated_board linker_folder script)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  add_library(sotto_emulated_board STATIC
    ${ARGN}
    ${folder}/src/host_file.cc
    ${folder}/src/model_flash.cc
    ${folder}/src/record_store.cc
    ${folder}/src/semihosting.cc
    ${folder}/src/stack.cc
    ${folder}/src/uart_frames.cc)
  add_library(sotto::emulated_board ALIAS sotto_emulated_board)
  target_include_directories(sotto_emulated_board PUBLIC ${folder}/include
                                                  PRIVATE ${folder}/src ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(sotto_emulated_board PUBLIC sotto::sdk)
  if(SOTTO_INSECURE_ENTROPY)
    target_sources(sotto_emulated_board PRIVATE ${folder}/src/insecure_entropy.cc)
    target_compile_definitions(sotto_emulated_board PUBLIC SOTTO_INSECURE_ENTROPY)
  endif()
  sotto_own_sources(sotto_emulated_board)
  target_compile_options(sotto_emulated_board PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  # Nothing supplies _sbrk: a program that can reach malloc does not link.
  target_link_options(sotto_emulated_board INTERFACE -L ${linker_folder} -T ${script})
endfunction()
