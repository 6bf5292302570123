# WebAssembly, with the distribution's Emscripten (Debian: emscripten, node-acorn). Node runs the programs.
# Emscripten's file for CMake names compilers and system; what follows it are flags that every object needs.
find_program(SOTTO_EMCC emcc DOC "Emscripten's compiler (Debian: emscripten)")
if(NOT SOTTO_EMCC)
  message(FATAL_ERROR "No emcc (Debian: emscripten, node-acorn)")
endif()
# Where the distribution has it; elsewhere `em-config` knows.
set(sotto_emscripten_root /usr/share/emscripten)
if(NOT EXISTS ${sotto_emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
  execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE sotto_emscripten_root
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
include(${sotto_emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)

# Exceptions of WebAssembly itself, not through JavaScript. Vectors of 128 bits give the same bits as none.
string(APPEND CMAKE_C_FLAGS_INIT " -fwasm-exceptions -msimd128")
string(APPEND CMAKE_CXX_FLAGS_INIT " -fwasm-exceptions -msimd128")

# Emscripten's linker runs scripts in Node, which need Debian's node-acorn. Debian's own Node finds it by itself.
set(CMAKE_C_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_C_LINKER_LAUNCHER})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
