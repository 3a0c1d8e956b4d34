// The C++ tests of native/cpu, without Node.js: they run under sanitizers and, cross-compiled, under an emulator of
// another architecture (scripts/testing/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// By default a sanitizer ends the process if memory runs out; these options make an allocation fail as it does without
// one. The functions are visible because the sanitizers' libraries look them up, and the project hides symbols.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" {
__attribute__((visibility("default"))) const char* __asan_default_options() { return "allocator_may_return_null=1"; }
__attribute__((visibility("default"))) const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
}
#endif
