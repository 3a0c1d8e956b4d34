# C++ tests with doctest: include this file, then call cudnn_rnn_native_test(target sources…). The addons of other compilers
# and systems are built without doctest, so only a build with -DCUDNN_RNN_TESTS=ON includes it.
function(cudnn_rnn_native_test target)
  find_path(DOCTEST doctest/doctest.h REQUIRED)
  # Copied, as a cross compiler must not search the folder of the host's headers.
  file(COPY ${DOCTEST}/doctest/doctest.h DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/include/doctest)
  add_executable(${target} ${ARGN})
  cudnn_rnn_compile_tests(${target})
  # It contains doctest itself, and starts beside the groups of the others.
  set_source_files_properties(test/main.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(cudnn_rnn_compile_tests target)
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/include)
  if(NOT MSVC)
    # Optimizing the many assertions takes longer than running them.
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Adds tests of the bindings of an addon to a target of C++ tests, over test/in_process_node_api.h in place of Node.js:
# cudnn_rnn_test_bindings(target sources…). Include addon.cmake before. They are the target ${target}_of_bindings: the other
# tests need no Node-API.
function(cudnn_rnn_test_bindings target)
  set(tests ${target}_of_bindings)
  add_library(${tests} OBJECT ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test/in_process_node_api.cc)
  cudnn_rnn_compile_tests(${tests})
  cudnn_rnn_use_node_api(${tests})
  target_include_directories(${tests} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${tests}>)
  # Functions of node-addon-api that nothing calls need no Node-API below them.
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
endfunction()
