# Compiles the sources of a target in groups: a small file takes longer to read its headers than to compile its own code, and
# groups halve the processor time of a build. -DCMAKE_UNITY_BUILD=OFF compiles each file alone, as clang-tidy does; that is
# also the proof that each file includes every header that it uses.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ calls a source that another one includes a header, in which lambdas over types of an anonymous namespace are suspicious.
  add_compile_options(-Wno-subobject-linkage)
endif()
