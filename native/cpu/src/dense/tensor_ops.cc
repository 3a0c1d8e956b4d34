#include "dense/tensor_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dense/dense_ops.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {
namespace {

constexpr int kLast = kWalkGroups - 1;

// Innermost groups of a walk.
ptrdiff_t LinesOf(const Walk& walk) { return walk.sizes[0] * walk.sizes[1] * walk.sizes[2]; }

// The element of a tensor at which a line begins.
ptrdiff_t PlaceOf(const Walk& walk, int view, ptrdiff_t line) {
  const WalkView& of = walk.views[view];
  const ptrdiff_t third = line % walk.sizes[2], rest = line / walk.sizes[2];
  return of.begin + rest / walk.sizes[1] * of.strides[0] + rest % walk.sizes[1] * of.strides[1] + third * of.strides[2];
}

// The loops that compilers turn into vectors are apart: operands side by side, or one that repeats.
template <typename T, typename Function>
void ApplyToLine(Function f, ptrdiff_t count, T* y, ptrdiff_t y_step, const T* a, ptrdiff_t a_step, const T* b,
                 ptrdiff_t b_step, const T* c, ptrdiff_t c_step) {
  if (y_step == 1 && a_step == 1 && b_step == 1) {
    for (ptrdiff_t k = 0; k < count; k++) y[k] = f(a[k], b[k], c[k * c_step]);
  } else if (y_step == 1 && a_step == 1 && b_step == 0) {
    for (ptrdiff_t k = 0; k < count; k++) y[k] = f(a[k], *b, c[k * c_step]);
  } else if (y_step == 1 && a_step == 0 && b_step == 1) {
    for (ptrdiff_t k = 0; k < count; k++) y[k] = f(*a, b[k], c[k * c_step]);
  } else {
    for (ptrdiff_t k = 0; k < count; k++) y[k * y_step] = f(a[k * a_step], b[k * b_step], c[k * c_step]);
  }
}

template <typename T, typename Function>
void ApplyToAll(const Engine<T>& engine, const Walk& walk, T* y, const T* a, const T* b, const T* c, Function f) {
  // Operands that are absent are the one before them, which the function does not read twice.
  const int b_view = b == nullptr ? 1 : 2, c_view = c == nullptr ? b_view : 3;
  b = b == nullptr ? a : b;
  c = c == nullptr ? b : c;
  const auto step = [&](int view) { return walk.views[view].strides[kLast]; };
  // Parts are lines, or pieces of one.
  const ptrdiff_t line = walk.sizes[kLast], piece = std::clamp<ptrdiff_t>(line, 1, kElementwisePart);
  const ptrdiff_t pieces = DivideUp(line, piece);
  ForEach(engine, LinesOf(walk) * pieces, kElementwisePart / piece, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const ptrdiff_t first = n % pieces * piece;
      const auto from = [&](int view) { return PlaceOf(walk, view, n / pieces) + first * step(view); };
      ApplyToLine(f, std::min(piece, line - first), y + from(0), step(0), a + from(1), step(1), b + from(b_view),
                  step(b_view), c + from(c_view), step(c_view));
    }
  });
}

// Outputs that are reduced side by side.
constexpr ptrdiff_t kSums = 64;
// Sums of one output that do not wait for each other.
constexpr ptrdiff_t kPartialSums = 8;

struct Add {
  static constexpr double kNone = 0;
  static double Of(double total, double value) { return total + value; }
};

struct Largest {
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  static double Of(double total, double value) { return value > total || std::isnan(value) ? value : total; }
};

// The reductions of `count` outputs, whose elements begin `step` apart.
template <typename Rule, typename T>
void ReduceSideBySide(const Walk& inner, const T* x, ptrdiff_t count, ptrdiff_t step, double* totals) {
  const ptrdiff_t length = inner.sizes[kLast], stride = inner.views[0].strides[kLast];
  std::fill_n(totals, count, Rule::kNone);
  for (ptrdiff_t line = 0; line < LinesOf(inner); line++) {
    const T* from = x + PlaceOf(inner, 0, line);
    if (step == 1 && stride != 1) {
      for (ptrdiff_t k = 0; k < length; k++) {
        const T* values = from + k * stride;
        for (ptrdiff_t n = 0; n < count; n++) totals[n] = Rule::Of(totals[n], values[n]);
      }
      continue;
    }
    for (ptrdiff_t n = 0; n < count; n++) {
      const T* values = from + n * step;
      double partial[kPartialSums];
      std::fill_n(partial, kPartialSums, Rule::kNone);
      const ptrdiff_t whole = length / kPartialSums * kPartialSums;
      for (ptrdiff_t k = 0; k < whole; k += kPartialSums) {
        for (ptrdiff_t j = 0; j < kPartialSums; j++) partial[j] = Rule::Of(partial[j], values[(k + j) * stride]);
      }
      for (ptrdiff_t k = whole; k < length; k++) partial[0] = Rule::Of(partial[0], values[k * stride]);
      for (const double each : partial) totals[n] = Rule::Of(totals[n], each);
    }
  }
}

template <typename Rule, typename T>
void ReduceAll(const Engine<T>& engine, const Walk& outer, const Walk& inner, double scale, T* y, const T* x) {
  const ptrdiff_t line = outer.sizes[kLast], pieces = DivideUp(line, kSums);
  const ptrdiff_t elements = LinesOf(inner) * inner.sizes[kLast];
  const ptrdiff_t y_step = outer.views[0].strides[kLast], x_step = outer.views[1].strides[kLast];
  // Four moves of elements make up for the memory that a sum reads.
  const ptrdiff_t part =
      std::max<ptrdiff_t>(1, kElementwisePart / std::max<ptrdiff_t>(1, elements * std::min(line, kSums)));
  ForEach(engine, LinesOf(outer) * pieces, part, [&](ptrdiff_t begin, ptrdiff_t end) {
    double totals[kSums];
    for (ptrdiff_t n = begin; n < end; n++) {
      const ptrdiff_t first = n % pieces * kSums, count = std::min(kSums, line - first);
      ReduceSideBySide<Rule>(inner, x + PlaceOf(outer, 1, n / pieces) + first * x_step, count, x_step, totals);
      T* to = y + PlaceOf(outer, 0, n / pieces) + first * y_step;
      for (ptrdiff_t k = 0; k < count; k++) to[k * y_step] = static_cast<T>(totals[k] / scale);
    }
  });
}

}  // namespace

Walk ReadWalk(const double* numbers, int tensors) {
  Walk walk{};
  for (ptrdiff_t& size : walk.sizes) size = static_cast<ptrdiff_t>(*numbers++);
  for (int view = 0; view < tensors; view++) {
    walk.views[view].begin = static_cast<ptrdiff_t>(*numbers++);
    for (ptrdiff_t& stride : walk.views[view].strides) stride = static_cast<ptrdiff_t>(*numbers++);
  }
  return walk;
}

template <typename T>
void ApplyToElements(const Engine<T>& engine, ElementFunction function, const Walk& walk, T* y, const T* a, const T* b,
                     const T* c) {
  const auto apply = [&](auto f) { ApplyToAll(engine, walk, y, a, b, c, f); };
  switch (function) {
    case ElementFunction::kCopy:
      return apply([](T v, T, T) { return v; });
    case ElementFunction::kAdd:
      return apply([](T v, T w, T) { return v + w; });
    case ElementFunction::kSubtract:
      return apply([](T v, T w, T) { return v - w; });
    case ElementFunction::kMultiply:
      return apply([](T v, T w, T) { return v * w; });
    case ElementFunction::kDivide:
      return apply([](T v, T w, T) { return v / w; });
    // A comparison with NaN is false: NaN of either stays.
    case ElementFunction::kMinimum:
      return apply([](T v, T w, T) { return v < w || v != v ? v : w; });
    case ElementFunction::kMaximum:
      return apply([](T v, T w, T) { return v > w || v != v ? v : w; });
    case ElementFunction::kPower:
      return apply([](T v, T w, T) { return std::pow(v, w); });
    case ElementFunction::kGreater:
      return apply([](T v, T w, T) { return v > w ? T{1} : T{0}; });
    case ElementFunction::kLess:
      return apply([](T v, T w, T) { return v < w ? T{1} : T{0}; });
    case ElementFunction::kEqual:
      return apply([](T v, T w, T) { return v == w ? T{1} : T{0}; });
    case ElementFunction::kExp:
      return apply([](T v, T, T) { return std::exp(v); });
    case ElementFunction::kLog:
      return apply([](T v, T, T) { return std::log(v); });
    case ElementFunction::kSqrt:
      return apply([](T v, T, T) { return std::sqrt(v); });
    case ElementFunction::kAbs:
      return apply([](T v, T, T) { return std::abs(v); });
    case ElementFunction::kNegate:
      return apply([](T v, T, T) { return -v; });
    case ElementFunction::kSquare:
      return apply([](T v, T, T) { return v * v; });
    case ElementFunction::kSin:
      return apply([](T v, T, T) { return std::sin(v); });
    case ElementFunction::kCos:
      return apply([](T v, T, T) { return std::cos(v); });
    case ElementFunction::kSelect:
      return apply([](T v, T w, T u) { return v != 0 ? w : u; });
  }
}

template <typename T>
void Reduce(const Engine<T>& engine, Reduction reduction, const Walk& outer, const Walk& inner, T* y, const T* x) {
  const ptrdiff_t elements = LinesOf(inner) * inner.sizes[kLast];
  const double scale = reduction == Reduction::kMean ? static_cast<double>(elements) : 1;
  if (reduction == Reduction::kMax) {
    ReduceAll<Largest>(engine, outer, inner, scale, y, x);
  } else {
    ReduceAll<Add>(engine, outer, inner, scale, y, x);
  }
}

template <typename T>
void MultiplyEach(const Engine<T>& engine, const Products& of, T* c, const T* a, const T* b) {
  const ptrdiff_t a_row = of.transpose_a ? 1 : of.inner, a_column = of.transpose_a ? of.rows : 1;
  const ptrdiff_t b_row = of.transpose_b ? 1 : of.columns, b_column = of.transpose_b ? of.inner : 1;
  const auto multiply = [&](const Engine<T>& by, ptrdiff_t k) {
    Multiply<T>(by, {a + k * of.a_step, a_row, a_column}, {b + k * of.b_step, b_row, b_column}, nullptr,
                c + k * of.c_step, of.rows, of.inner, of.columns);
  };
  // Threads take whole products if there are enough of them, else parts of one.
  if (of.count < 2 * engine.pool->size()) {
    for (ptrdiff_t k = 0; k < of.count; k++) multiply(engine, k);
    return;
  }
  const ptrdiff_t part =
      std::max<ptrdiff_t>(1, kElementwisePart / std::max<ptrdiff_t>(1, of.rows * of.columns * of.inner));
  ForEach(engine, of.count, part, [&](ptrdiff_t begin, ptrdiff_t end) {
    thread_local ThreadPool alone(1);
    Engine<T> own = engine;
    own.pool = &alone;
    for (ptrdiff_t k = begin; k < end; k++) multiply(own, k);
  });
}

#define CUDNN_RNN_INSTANTIATE_TENSOR_OPS(T)                                                                        \
  template void ApplyToElements(const Engine<T>&, ElementFunction, const Walk&, T*, const T*, const T*, const T*); \
  template void Reduce(const Engine<T>&, Reduction, const Walk&, const Walk&, T*, const T*);                       \
  template void MultiplyEach(const Engine<T>&, const Products&, T*, const T*, const T*);

CUDNN_RNN_INSTANTIATE_TENSOR_OPS(float)
CUDNN_RNN_INSTANTIATE_TENSOR_OPS(double)

}  // namespace cudnn_rnn
