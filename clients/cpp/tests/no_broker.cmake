# Programs that no broker answers end soon, with one line and a nonzero status; SIGTERM ends them at once.
# cmake "-DPROGRAMS=…;…" -P no_broker.cmake
set(ENV{DOVETAIL_BROKER} tcp://127.0.0.1:1)
find_program(TIMEOUT_COMMAND timeout)
foreach(program IN LISTS PROGRAMS)
  list(APPEND started COMMAND ${program})
endforeach()

# All at once; what they print on standard output goes nowhere.
execute_process(${started} TIMEOUT 60 RESULTS_VARIABLE statuses ERROR_VARIABLE told)
foreach(status IN LISTS statuses)
  if(NOT status STREQUAL "1")
    message(FATAL_ERROR "statuses ${statuses}, not 1: ${told}")
  endif()
endforeach()
list(LENGTH PROGRAMS programs)
string(REPLACE ";" "," told "${told}")  # which would split a match
string(REGEX MATCHALL "no broker answers at tcp://127.0.0.1:1, [^\n]*\n" lines "${told}")
string(REGEX MATCHALL "\n" all "${told}")
list(LENGTH lines as_it_should)
list(LENGTH all length)
if(NOT as_it_should EQUAL programs OR NOT length EQUAL programs)
  message(FATAL_ERROR "not one line each: ${told}")
endif()

if(TIMEOUT_COMMAND)
  foreach(program IN LISTS PROGRAMS)
    # 124: the command `timeout` sent SIGTERM and the program ended; 137: it had to be killed.
    execute_process(COMMAND ${TIMEOUT_COMMAND} -k 10 1 ${program} RESULT_VARIABLE status ERROR_VARIABLE told)
    if(NOT status STREQUAL "124" OR told)
      message(FATAL_ERROR "SIGTERM: ${program}: status ${status}: ${told}")
    endif()
  endforeach()
endif()
