// The C++ tests of native/mpi, without Node.js and without an MPI: they run under sanitizers (scripts/test_native.mjs).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
