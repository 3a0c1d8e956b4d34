// The C++ tests of native/cudnn, without Node.js and without a GPU: they run under sanitizers
// (scripts/testing/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
