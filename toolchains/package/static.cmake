# Programs without shared libraries, for wheel.sh: included behind project() as CMAKE_PROJECT_sotto_INCLUDE.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -static-pie")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_library(SOTTO_UV_LIBRARY uv_a REQUIRED DOC "libuv (Debian: libuv1-dev)")
set(CMAKE_CXX_STANDARD_LIBRARIES "${CMAKE_CXX_STANDARD_LIBRARIES} -lz")  # libzip's, behind it
