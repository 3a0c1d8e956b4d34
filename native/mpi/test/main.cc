// The C++ tests of native/mpi, without Node.js and an MPI, run under sanitizers (scripts/testing/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
