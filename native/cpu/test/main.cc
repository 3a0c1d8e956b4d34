// The C++ tests of native/cpu, without Node.js: they run under sanitizers and, cross-compiled, under an emulator of
// another architecture (scripts/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// Where there is no memory the sanitizers end the process, unless they are asked to fail as the system does.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
