# Builds a Node-API addon: include this file, then call cudnn_rnn_addon(target sources…).

# cmake-js passes CMAKE_JS_INC with the headers of Node-API; plain CMake runs the npm packages for the path. node-addon-api is
# run in both cases, because cmake-js does not pass its path.
function(cudnn_rnn_node_api_headers result)
  set(headers ${CMAKE_JS_INC})
  if(NOT headers)
    execute_process(
      COMMAND node -p "require('node-api-headers').include_dir"
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      OUTPUT_VARIABLE headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
  execute_process(
    COMMAND node -p "require('path').resolve(require('node-addon-api').include_dir)"
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    OUTPUT_VARIABLE addon_api OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${headers} ${addon_api} PARENT_SCOPE)
endfunction()

# How every target that includes Node-API is compiled: an addon, and the C++ tests of its bindings.
function(cudnn_rnn_use_node_api target)
  cudnn_rnn_node_api_headers(headers)
  if(NOT MSVC)
    # Bindings: -O3 inlines more and gains nothing. The kernels of native/cpu are a library with separate flags.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${headers})
  target_compile_definitions(${target} PRIVATE
    NAPI_VERSION=9 NODE_ADDON_API_DISABLE_DEPRECATED NODE_ADDON_API_CPP_EXCEPTIONS BUILDING_NODE_EXTENSION
    # A function that JavaScript calls throws any C++ exception as an Error.
    NODE_ADDON_API_CPP_EXCEPTIONS_ALL
    # A worker thread that is being terminated takes no more exceptions: without this they end the process.
    NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
endfunction()

function(cudnn_rnn_addon target)
  add_library(${target} SHARED ${ARGN} ${CMAKE_JS_SRC})
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX ".node")
  cudnn_rnn_use_node_api(${target})
  target_link_libraries(${target} PRIVATE ${CMAKE_JS_LIB})
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # The two names that Node.js looks for, and no other: --exclude-libs is an option of GNU's linkers alone.
    target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/addon.version -Wl,-z,relro,-z,now -Wl,--gc-sections)
    # The sanitizers' run-time libraries wrap the thread functions themselves.
    if(NOT CUDNN_RNN_SANITIZE)
      cudnn_rnn_old_glibc(${target})
      # libgcc stays shared, as Node.js itself needs it: a static one requires glibc 2.35.
      target_link_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-static-libstdc++> $<$<CONFIG:Release>:-s>)
    endif()
  elseif(APPLE)
    # Node.js has the functions of Node-API. Every other symbol must be found now, not when the addon is loaded:
    # -undefined dynamic_lookup would allow any.
    execute_process(
      COMMAND node -p "const { v9 } = require('node-api-headers').symbols; [...v9.js_native_api_symbols, ...v9.node_api_symbols].map((name) => '-Wl,-U,_' + name).join(';')"
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      OUTPUT_VARIABLE node_api OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    target_link_options(${target} PRIVATE ${node_api})
  elseif(MSVC AND CMAKE_JS_NODELIB_DEF AND CMAKE_JS_NODELIB_TARGET)
    execute_process(
      COMMAND ${CMAKE_AR} /def:${CMAKE_JS_NODELIB_DEF} /out:${CMAKE_JS_NODELIB_TARGET} ${CMAKE_STATIC_LINKER_FLAGS})
  endif()
endfunction()

# Links an addon so that it loads on a glibc older than this one (glibc_compat.cc).
function(cudnn_rnn_old_glibc target)
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("#include <features.h>\n#ifndef __GLIBC__\n#error musl\n#endif\nint main() {}" CUDNN_RNN_GLIBC)
  if(NOT CUDNN_RNN_GLIBC)
    return()
  endif()
  set(compat ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/glibc_compat.cc)
  target_sources(${target} PRIVATE ${compat})
  # A section for each function: --gc-sections then drops the wrappers that an addon does not call, and their symbols.
  set_source_files_properties(${compat} PROPERTIES COMPILE_OPTIONS -ffunction-sections)
  foreach(symbol pthread_create pthread_join pthread_detach pthread_once pthread_mutex_trylock pthread_cond_clockwait exp log pow dlopen dlsym dlerror dlinfo)
    target_link_options(${target} PRIVATE -Wl,--wrap=${symbol})
  endforeach()
endfunction()
