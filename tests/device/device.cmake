# What is proved of the images of boards that board.images builds. Plain builds only, as those.
if(SOTTO_SANITIZE)
  return()
endif()
set(sotto_board_images ${PROJECT_BINARY_DIR}/board/images)
foreach(proof no_float stack)
  add_test(NAME board.${proof}
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/device/${proof}.sh ${PROJECT_SOURCE_DIR}
                   ${sotto_board_images})
  set_tests_properties(board.${proof} PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 300
                                                 FIXTURES_REQUIRED board_images)
endforeach()

add_test(NAME board.no_heap
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/no_heap/no_heap.sh ${PROJECT_SOURCE_DIR}
                 ${PROJECT_BINARY_DIR}/board/no_heap)
set_tests_properties(board.no_heap PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 300)

# After the images, whose objects ccache then has.
add_test(NAME board.installed
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/device/installed.sh ${PROJECT_SOURCE_DIR}
                 ${PROJECT_BINARY_DIR}/board/installed)
set_tests_properties(board.installed PROPERTIES LABELS board SKIP_RETURN_CODE 77 TIMEOUT 300 DEPENDS board.images)
