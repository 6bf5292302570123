# sotto_local_round(LIBRARY PORT): examples/local_round on a board that QEMU emulates, without anything else of this
# project's CMake files.
function(sotto_local_round library port)
  set(emulated ${SOTTO}/ports/emulated)
  add_executable(local_round ${SOTTO}/tests/packages/local_round_board.cc ${port}/src/startup.cc
                             ${emulated}/src/semihosting.cc ${emulated}/src/stack.cc)
  target_link_libraries(local_round PRIVATE ${library} m)
  target_include_directories(local_round PRIVATE
    ${SOTTO}/examples/local_round ${emulated}/include ${emulated}/src ${port}/src)
  target_compile_definitions(local_round PRIVATE SOTTO_BOARD_AN385)
  target_compile_options(local_round PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  if(SOTTO_CPU MATCHES "^rv")  # its startup writes control registers
    target_compile_options(local_round PRIVATE -march=${SOTTO_CPU}_zicsr)
  endif()
  # The program needs no C++ library.
  set_target_properties(local_round PROPERTIES LINKER_LANGUAGE C)
  file(GLOB script ${port}/linker/virt.ld ${port}/linker/an385.ld)
  target_link_options(local_round PRIVATE -L ${port}/linker -T ${script})
endfunction()
