# Windows on x64 by clang with Debian's mingw-w64: packages clang-19, lld-19, llvm-19, g++-mingw-w64-x86-64-posix.
# g++ of mingw-w64 must not compile kernels: it aligns the vectors that it spills to 16 bytes only (GCC bug 54412).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET x86_64-w64-windows-gnu)
endforeach()
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
set(CMAKE_DLLTOOL llvm-dlltool-19)
set(CMAKE_RC_COMPILER llvm-windres-19)
# libstdc++ of mingw-w64 has emulated thread-local variables; std::call_once shares two of them with its callers.
set(CMAKE_CXX_FLAGS_INIT "-femulated-tls")
# Static libraries of the compiler: the addon needs only DLLs of Windows. Without a timestamp two builds have equal bytes.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld -static -lwinpthread -Wl,--no-insert-timestamp")
endforeach()
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
