# Installs the library and builds such a project: cmake -DBUILD=… -DSOURCE=… -P test.cmake
set(place ${BUILD}/package-test)
file(REMOVE_RECURSE ${place})
foreach(step
    "--install;${BUILD};--prefix;${place}/prefix"
    "-S;${SOURCE}/tests/package;-B;${place}/build;-DCMAKE_PREFIX_PATH=${place}/prefix;-DDOVETAIL_EXAMPLES=${SOURCE}/examples"
    "--build;${place}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(status)
    message(FATAL_ERROR "cmake ${step}: ${out}")
  endif()
endforeach()
