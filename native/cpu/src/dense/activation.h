// Activations of layers: tanh, sigmoid, relu, elu, softplus, softmax.
#pragma once

#include <algorithm>
#include <cmath>

#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "dense/softmax_line.h"

namespace cudnn_rnn {

// For large -x, e^-x is infinite and the quotient 0, the right limit: no branch is needed.
template <typename T>
T SigmoidOf(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// The order of ACTIVATIONS in packages/ops.
enum class Activation { kTanh, kSigmoid, kRelu, kElu, kSoftplus, kSoftmax };

// φ(x) of one element. kSoftmax is of a whole row (SoftmaxLine) and does not reach this function.
template <typename T>
T ActivationValue(Activation activation, T x) {
  switch (activation) {
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return SigmoidOf(x);
    // NaN stays NaN.
    case Activation::kRelu:
      return x < 0 ? T{0} : x;
    case Activation::kElu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::kSoftplus:
      // ln(1 + e^x) without overflow: the exponential is taken of -|x|, and log1p keeps its digits.
      return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
    case Activation::kSoftmax:
      break;
  }
  return x;
}

// φ'(x) as a function of y = φ(x), so that a backward needs no copy of x:
//   tanh 1 - y²   σ y(1 - y)   relu [y > 0]   elu y + 1 below 0, else 1   softplus 1 - e^-y
template <typename T>
T ActivationSlope(Activation activation, T y) {
  switch (activation) {
    case Activation::kTanh:
      return 1 - y * y;
    case Activation::kSigmoid:
      return y * (1 - y);
    case Activation::kRelu:
      return y > 0 ? T{1} : T{0};
    case Activation::kElu:
      // d/dx (e^x - 1) = e^x = y + 1.
      return y < 0 ? y + 1 : T{1};
    case Activation::kSoftplus:
      // d/dx ln(1 + e^x) = σ(x) = 1 - e^-y. expm1 keeps the digits if y is near 0.
      return -std::expm1(-y);
    case Activation::kSoftmax:
      break;
  }
  return T{1};
}

// activate: y, x; activation, rows, columns, maximum
// y [N,E] = φ(x), elementwise, or softmax over each row.
template <typename T>
void Activate(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const auto activation = static_cast<Activation>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  const T maximum = static_cast<T>(on.numbers[3]);
  if (activation == Activation::kSoftmax) {
    ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t n = begin; n < end; n++) SoftmaxLine(y + n * columns, x + n * columns, 1, columns);
    });
    return;
  }
  ForEach(engine, rows * columns, kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    // The vector kernels take whole chunks of 64 bytes; the elements after the last chunk go to ActivationValue(). Both
    // round within the bounds of docs/numerics.md, not to the same bits, so the split is at a fixed element, not at a
    // thread's range.
    const auto vectors = activation == Activation::kTanh      ? engine.kernels->tanh
                         : activation == Activation::kSigmoid ? engine.kernels->sigmoid
                                                              : nullptr;
    ptrdiff_t k = begin;
    if (vectors != nullptr) {
      const ptrdiff_t whole = (end - begin) / kChunk<T> * kChunk<T>;
      vectors(x + begin, y + begin, whole);
      k += whole;
    }
    // A comparison with NaN is false, so NaN stays.
    for (; k < end; k++) {
      const T value = ActivationValue(activation, x[k]);
      y[k] = value > maximum ? maximum : value;
    }
  });
}

// activationGradient: dx, y, dy; activation, rows, columns, maximum
// dx [N,E] = dy ⊙ φ'(x) from y = φ(x): the forward's x need not be kept.
template <typename T>
void ActivationGradient(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* dx = on.data[0];
  const T *y = on.data[1], *dy = on.data[2];
  const auto activation = static_cast<Activation>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  const T maximum = static_cast<T>(on.numbers[3]);
  const bool bounded = std::isfinite(maximum);
  if (activation == Activation::kSoftmax) {
    ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t n = begin; n < end; n++) {
        SoftmaxLineGradient(dx + n * columns, y + n * columns, dy + n * columns, 1, columns);
      }
    });
    return;
  }
  ForEach(engine, rows * columns, kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t k = begin; k < end; k++) {
      dx[k] = bounded && y[k] >= maximum ? T{0} : dy[k] * ActivationSlope(activation, y[k]);
    }
  });
}

}  // namespace cudnn_rnn
