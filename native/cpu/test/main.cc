// The C++ tests of native/cpu, without Node.js: they run under sanitizers and, cross-compiled, under an emulator of
// another architecture (scripts/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
