# C++ tests with doctest: include this file, then call cudnn_rnn_native_test(target sources…). The addons of other compilers
# and systems are built without doctest, so only a build with -DCUDNN_RNN_TESTS=ON includes it.
function(cudnn_rnn_native_test target)
  find_path(DOCTEST doctest/doctest.h REQUIRED)
  # Copied, as a cross compiler must not search the folder of the host's headers.
  file(COPY ${DOCTEST}/doctest/doctest.h DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/include/doctest)
  add_executable(${target} ${ARGN})
  # Each file of tests has its own helpers, whose names may repeat.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/include)
  if(NOT MSVC)
    # Optimizing the many assertions takes longer than running them.
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Lets a target of C++ tests link the bindings of an addon, over test/in_process_node_api.h in place of Node.js. Include
# addon.cmake before.
function(cudnn_rnn_test_bindings target)
  cudnn_rnn_use_node_api(${target})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test)
  # Functions of node-addon-api that nothing calls need no Node-API below them.
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test/in_process_node_api.cc)
endfunction()
