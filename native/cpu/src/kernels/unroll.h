// Before loops over the registers of a tile or a group of vectors. Left to itself g++ keeps the larger of them as
// loops, for which the values must have addresses: it then writes them to the stack at every step.
#pragma once

#if defined(__GNUC__)
#define CUDNN_RNN_UNROLL _Pragma("GCC unroll 16")
#else
#define CUDNN_RNN_UNROLL
#endif
