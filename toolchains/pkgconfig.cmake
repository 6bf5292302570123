# sotto_pkgconfig(NAME DESCRIPTION REQUIRES LIBRARIES): NAME.pc for pkg-config, which finds the installed
# folder by its own place.
function(sotto_pkgconfig name description requires libraries)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH to_prefix /prefix/${folder} /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/sdk/pkgconfig.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${folder} COMPONENT sdk)
endfunction()
