# C++ tests with doctest: include this file, then call cudnn_rnn_native_test(target sources…). The addons of other compilers
# and systems are built without doctest, so only a build with -DCUDNN_RNN_TESTS=ON includes it.
function(cudnn_rnn_native_test target)
  find_path(DOCTEST doctest/doctest.h REQUIRED)
  # Copied, as a cross compiler must not search the folder of the host's headers.
  file(COPY ${DOCTEST}/doctest/doctest.h DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/include/doctest)
  add_executable(${target} ${ARGN})
  # Each file of tests has helpers of its own, whose names may repeat.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/include)
endfunction()
