// The loops over tensors of any shape against their definition, by indices.
#include "dense/tensor_ops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

template <typename T>
std::vector<T> Ramp(size_t count) {
  std::vector<T> values(count);
  for (size_t k = 0; k < count; k++) values[k] = static_cast<T>(k % 97) / 16 - 2;
  return values;
}

// A call with the engine of a pool.
template <typename T, typename Call>
void WithEngine(int threads, const Kernels& kernels, const Call& call) {
  ThreadPool pool(threads);
  BlockCache blocks;
  call(EngineOf<T>(&pool, &blocks, kernels));
}

// Four groups of which a repeats in the first, b in the third; y has gaps behind each line.
Walk GappedWalk(ptrdiff_t last) {
  return {{2, 3, 2, last},
          {{1, {6 * (last + 1), 2 * (last + 1), last + 1, 1}},
           {0, {0, 2 * last, last, 1}},
           {0, {3 * last, last, 0, 1}},
           {0, {0, 0, 0, 0}}}};
}

TEST_CASE_TEMPLATE("elements of four groups are combined by their strides, and nothing between them is written", T,
                   float, double) {
  for (const ptrdiff_t last : {1, 5, 20000}) {
    const Walk walk = GappedWalk(last);
    const std::vector<T> a = Ramp<T>(static_cast<size_t>(6 * last)), b = Ramp<T>(static_cast<size_t>(6 * last));
    std::vector<T> y(static_cast<size_t>(12 * (last + 1)), T{-77});
    WithEngine<T>(3, kPortableKernels, [&](const Engine<T>& engine) {
      ApplyToElements<T>(engine, ElementFunction::kSubtract, walk, y.data(), a.data(), b.data(), nullptr);
    });
    bool is_right = true;
    for (ptrdiff_t n = 0; n < 12; n++) {
      const ptrdiff_t i = n / 6, j = n / 2 % 3, k = n % 2;
      is_right &= y[static_cast<size_t>(n * (last + 1))] == T{-77};
      for (ptrdiff_t at = 0; at < last; at++) {
        const T expected =
            a[static_cast<size_t>((j * 2 + k) * last + at)] - b[static_cast<size_t>((i * 3 + j) * last + at)];
        is_right &= y[static_cast<size_t>(n * (last + 1) + 1 + at)] == expected;
      }
    }
    CHECK(is_right);
  }
}

TEST_CASE_TEMPLATE("each function of elements is that of its name", T, float, double) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    ElementFunction function;
    double expected[4];
  };
  // Each (a, b, c): (0.5, 2, 7), (2, 2, 8), (3, -1, 9), (0, NaN, 5).
  std::vector<T> a{T{0.5}, 2, 3, 0}, b{2, 2, -1, static_cast<T>(nan)}, c{7, 8, 9, 5};
  const Case cases[] = {
      {ElementFunction::kCopy, {0.5, 2, 3, 0}},
      {ElementFunction::kAdd, {2.5, 4, 2, nan}},
      {ElementFunction::kSubtract, {-1.5, 0, 4, nan}},
      {ElementFunction::kMultiply, {1, 4, -3, nan}},
      {ElementFunction::kDivide, {0.25, 1, -3, nan}},
      {ElementFunction::kMinimum, {0.5, 2, -1, nan}},
      {ElementFunction::kMaximum, {2, 2, 3, nan}},
      {ElementFunction::kPower, {0.25, 4, 1. / 3, nan}},
      {ElementFunction::kGreater, {0, 0, 1, 0}},
      {ElementFunction::kLess, {1, 0, 0, 0}},
      {ElementFunction::kEqual, {0, 1, 0, 0}},
      {ElementFunction::kExp, {std::exp(0.5), std::exp(2), std::exp(3), 1}},
      {ElementFunction::kLog, {std::log(0.5), std::log(2), std::log(3), -kInfinity}},
      {ElementFunction::kSqrt, {std::sqrt(0.5), std::sqrt(2), std::sqrt(3), 0}},
      {ElementFunction::kAbs, {0.5, 2, 3, 0}},
      {ElementFunction::kNegate, {-0.5, -2, -3, 0}},
      {ElementFunction::kSquare, {0.25, 4, 9, 0}},
      {ElementFunction::kSin, {std::sin(0.5), std::sin(2), std::sin(3), 0}},
      {ElementFunction::kCos, {std::cos(0.5), std::cos(2), std::cos(3), 1}},
      {ElementFunction::kSelect, {2, 2, -1, 5}},
  };
  for (const Case& each : cases) {
    // Side by side, and each operand in turn repeated or two apart.
    for (const ptrdiff_t a_step : {1, 0, 2}) {
      for (const ptrdiff_t b_step : {1, 0, 2}) {
        const Walk walk{{1, 1, 1, a_step == 2 || b_step == 2 ? 2 : 4},
                        {{0, {0, 0, 0, 1}}, {0, {0, 0, 0, a_step}}, {0, {0, 0, 0, b_step}}, {0, {0, 0, 0, 1}}}};
        if (a_step != b_step && each.function != ElementFunction::kAdd) continue;
        std::vector<T> y(4, T{0});
        WithEngine<T>(1, kPortableKernels, [&](const Engine<T>& engine) {
          ApplyToElements<T>(engine, each.function, walk, y.data(), a.data(), b.data(), c.data());
        });
        for (size_t k = 0; k < static_cast<size_t>(walk.sizes[3]); k++) {
          const size_t at = k * static_cast<size_t>(a_step), other = k * static_cast<size_t>(b_step);
          double expected = a_step == b_step ? each.expected[at] : static_cast<double>(a[at]) + b[other];
          if (each.function == ElementFunction::kSelect && at == 3) expected = c[k];
          INFO("function " << static_cast<int>(each.function) << ", steps " << a_step << " and " << b_step);
          const double actual = y[k];
          CHECK((std::isnan(expected) ? std::isnan(actual) : actual == expected || std::abs(actual - expected) < 1e-6));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("reductions over rows, columns and both are those of their definition", T, float, double) {
  constexpr size_t kRows = 70, kColumns = 131;
  const std::vector<T> x = Ramp<T>(kRows * kColumns);
  const auto view = [](ptrdiff_t first, ptrdiff_t second) { return WalkView{0, {0, 0, first, second}}; };
  struct Case {
    Walk outer, inner;
    size_t outputs;
  };
  const Case cases[] = {
      // To columns, to rows, to one, and of x as it is.
      {{{1, 1, 1, kColumns}, {view(0, 1), view(0, 1)}}, {{1, 1, 1, kRows}, {view(0, kColumns)}}, kColumns},
      {{{1, 1, 1, kRows}, {view(0, 1), view(0, kColumns)}}, {{1, 1, 1, kColumns}, {view(0, 1)}}, kRows},
      {{{1, 1, 1, 1}, {view(0, 0), view(0, 0)}}, {{1, 1, kRows, kColumns}, {view(kColumns, 1)}}, 1},
      {{{1, 1, 1, kRows * kColumns}, {view(0, 1), view(0, 1)}}, {{1, 1, 1, 1}, {view(0, 0)}}, kRows * kColumns},
  };
  for (const Case& each : cases) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax}) {
      std::vector<T> y(each.outputs, T{-77});
      WithEngine<T>(3, kPortableKernels, [&](const Engine<T>& engine) {
        Reduce<T>(engine, reduction, each.outer, each.inner, y.data(), x.data());
      });
      std::vector<double> totals(each.outputs, reduction == Reduction::kMax ? -kInfinity : 0), counts(each.outputs);
      for (size_t k = 0; k < x.size(); k++) {
        const size_t row = k / kColumns, column = k % kColumns;
        const size_t output = each.outputs == kColumns ? column
                              : each.outputs == kRows  ? row
                              : each.outputs == 1      ? 0
                                                       : k;
        double& total = totals[output];
        total = reduction == Reduction::kMax ? std::max<double>(total, x[k]) : total + x[k];
        counts[output]++;
      }
      double worst = 0;
      for (size_t n = 0; n < each.outputs; n++) {
        const double expected = reduction == Reduction::kMean ? totals[n] / counts[n] : totals[n];
        worst = std::max(worst, std::abs(y[n] - expected) / std::max(1.0, std::abs(expected)));
      }
      CHECK(worst < 1e-6);
    }
  }
}

TEST_CASE("a NaN is the largest of the elements that it is among, and the sum of none is 0") {
  std::vector<double> x{1, std::numeric_limits<double>::quiet_NaN(), 3, 4}, y(2);
  const Walk outer{{1, 1, 1, 2}, {{0, {0, 0, 0, 1}}, {0, {0, 0, 0, 2}}}}, inner{{1, 1, 1, 2}, {{0, {0, 0, 0, 1}}}};
  WithEngine<double>(1, kPortableKernels, [&](const Engine<double>& engine) {
    Reduce<double>(engine, Reduction::kMax, outer, inner, y.data(), x.data());
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == 4);
    const Walk none{{1, 1, 1, 0}, {{0, {0, 0, 0, 1}}}};
    Reduce<double>(engine, Reduction::kSum, outer, none, y.data(), x.data());
    CHECK(y == std::vector<double>{0, 0});
  });
}

TEST_CASE_TEMPLATE("products of many matrices are those of their definition, on any number of threads", T, float,
                   double) {
  for (const ptrdiff_t count : {1, 3, 40}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        constexpr ptrdiff_t kM = 5, kN = 19, kK = 16;
        const Products of{count, kM * kN, kM * kK, 0, kM, kN, kK, transpose_a, transpose_b};
        const std::vector<T> a = Ramp<T>(static_cast<size_t>(count * kM * kK)), b = Ramp<T>(kN * kK);
        for (const Kernels* kernels : TestedKernels()) {
          std::vector<T> c(static_cast<size_t>(count * kM * kN), T{1});
          WithEngine<T>(3, *kernels,
                        [&](const Engine<T>& engine) { MultiplyEach<T>(engine, of, c.data(), a.data(), b.data()); });
          double worst = 0;
          for (ptrdiff_t n = 0; n < count * kM * kN; n++) {
            const ptrdiff_t matrix = n / (kM * kN), row = n / kN % kM, column = n % kN;
            double sum = 0;
            for (ptrdiff_t k = 0; k < kK; k++) {
              const ptrdiff_t left = matrix * kM * kK + (transpose_a ? k * kM + row : row * kK + k);
              const ptrdiff_t right = transpose_b ? column * kK + k : k * kN + column;
              sum += static_cast<double>(a[static_cast<size_t>(left)]) * b[static_cast<size_t>(right)];
            }
            worst = std::max(worst, std::abs(c[static_cast<size_t>(n)] - sum) / std::max(1.0, std::abs(sum)));
          }
          CHECK(worst < 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
