#pragma once

#include <cstddef>

#include "threads/engine.h"

namespace cudnn_rnn {

// The loops beneath all operations on tensors of any shape.

inline constexpr int kWalkGroups = 4;

// The elements of one tensor in a walk: the first one, and the distance of neighbors in each group, 0 if it repeats.
struct WalkView {
  ptrdiff_t begin;
  ptrdiff_t strides[kWalkGroups];
};

// One loop over dimensions of which neighbors that are treated alike are one group, the innermost last:
// packages/ops/src/executor/operations/walk.ts. The result is the first view.
struct Walk {
  ptrdiff_t sizes[kWalkGroups];
  WalkView views[kWalkGroups];
};

// Numbers of a walk over `tensors` tensors.
inline constexpr ptrdiff_t WalkNumbers(ptrdiff_t tensors) { return kWalkGroups + tensors * (1 + kWalkGroups); }

Walk ReadWalk(const double* numbers, int tensors);

// The order of ELEMENT_FUNCTIONS in packages/ops/src/executor/host/element_functions.ts.
enum class ElementFunction {
  kCopy,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMinimum,
  kMaximum,
  kPower,
  kGreater,
  kLess,
  kEqual,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kNegate,
  kSquare,
  kSin,
  kCos,
  kSelect,
};

// y = f(a, b, c) over the walk; operands that the function does not have are null.
template <typename T>
void ApplyToElements(const Engine<T>& engine, ElementFunction function, const Walk& walk, T* y, const T* a, const T* b,
                     const T* c);

// The order of REDUCTIONS in the same file.
enum class Reduction { kSum, kMean, kMax };

// For each element of the walk `outer` over y and x, the reduction of x over the walk `inner` from there, in double
// precision.
template <typename T>
void Reduce(const Engine<T>& engine, Reduction reduction, const Walk& outer, const Walk& inner, T* y, const T* x);

// Products of matrices, one behind the other. A step of 0 is one matrix for all.
struct Products {
  ptrdiff_t count;
  ptrdiff_t c_step, a_step, b_step;
  ptrdiff_t rows, columns, inner;
  bool transpose_a, transpose_b;
};

// c = a·b
template <typename T>
void MultiplyEach(const Engine<T>& engine, const Products& products, T* c, const T* a, const T* b);

}  // namespace cudnn_rnn
