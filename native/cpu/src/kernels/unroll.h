// Before loops over the registers of a tile or a group of vectors. Left to itself g++ keeps the larger of them as
// loops, for which the values must have addresses: it then writes them to the stack at every step.
#pragma once

#include <stddef.h>

#if defined(__GNUC__)
#define CUDNN_RNN_UNROLL _Pragma("GCC unroll 16")
#else
#define CUDNN_RNN_UNROLL
#endif

namespace {

// A number that is a constant of its type: only with constants the values of loops are registers.
template <int kCount>
struct Count {
  static constexpr int kValue = kCount;
};

// body(Count<rows>), by a chain of comparisons that is short beside any tile; kMost for more rows.
template <int kLeast, int kMost, typename Body>
static inline void WithRows(ptrdiff_t rows, const Body& body) {
  if constexpr (kMost > kLeast) {
    if (rows < kMost) return WithRows<kLeast, kMost - 1>(rows, body);
  }
  body(Count<kMost>{});
}

// body(Count<chunks>) for the chunks of a panel.
template <typename Body>
static inline void WithChunks(int chunks, const Body& body) {
  WithRows<1, 4>(chunks, body);
}

}  // namespace
