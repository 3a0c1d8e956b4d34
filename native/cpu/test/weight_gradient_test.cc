#include "passes/weight_gradient.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "product_by_definition.h"
#include "test_values.h"
#include "tested_kernels.h"
#include "threads/thread_pool.h"

namespace cudnn_rnn {
namespace {

template <typename T>
struct Case {
  PanelMatrix matrix;
  ptrdiff_t rows;
  ptrdiff_t x_stride;
  std::vector<T> x;   // [rows][x_stride]
  std::vector<T> dz;  // [panels][rows][width]

  ptrdiff_t width() const { return matrix.chunks * kChunk<T>; }
  size_t gradient_size() const {
    const ptrdiff_t chunks = (matrix.panels - 1) * matrix.chunks + matrix.last_chunks;
    return static_cast<size_t>(matrix.depth * chunks * kChunk<T>);
  }

  // Σ over the rows in double precision, in panels of `order`.
  std::vector<T> Expected(PanelOrder order) const {
    std::vector<T> gradient(gradient_size());
    for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
      const PanelStrides<T> strides(order, matrix.depth, matrix.ChunksOf(panel));
      for (ptrdiff_t k = 0; k < matrix.depth; k++) {
        for (ptrdiff_t j = 0; j < matrix.ChunksOf(panel) * kChunk<T>; j++) {
          double sum = 0;
          for (ptrdiff_t row = 0; row < rows; row++) {
            sum += static_cast<double>(x[static_cast<size_t>(row * x_stride + k)]) *
                   dz[static_cast<size_t>((panel * rows + row) * width() + j)];
          }
          const ptrdiff_t element = matrix.PanelBegin<T>(panel) + k * strides.row + strides.ColumnAt(j);
          gradient[static_cast<size_t>(element)] = static_cast<T>(sum);
        }
      }
    }
    return gradient;
  }

  // With NaN in the memory that Run writes: it adds to nothing that was there before.
  std::vector<T> Computed(const KernelTable<T>& kernels, int threads, bool rounds = false) const {
    std::vector<T> gradient(gradient_size(), T{NAN});
    std::vector<T> packed(static_cast<size_t>(WeightGradient<T>::PackedSize(matrix.depth)), T{NAN});
    std::vector<T> rounded(static_cast<size_t>(WeightGradient<T>::RoundedSize(matrix.panels)), T{NAN});
    PanelMatrix own = matrix;
    own.order = kernels.panel_order;
    const WeightGradient<T> product{kernels,
                                    own,
                                    rows,
                                    x.data(),
                                    x_stride,
                                    dz.data(),
                                    width(),
                                    rows * width(),
                                    gradient.data(),
                                    packed.data(),
                                    rounds ? rounded.data() : nullptr};
    ThreadPool pool(threads);
    SharedLoops loops(threads);
    pool.Run(threads, [&](int index) {
      SharedLoops::Member member(&loops, index);
      product.Run(&member);
    });
    return gradient;
  }
};

template <typename T>
std::vector<Case<T>> Cases() {
  std::vector<Case<T>> cases;
  constexpr ptrdiff_t kBlock = WeightGradient<T>::kRowBlock;
  // Rows below, of and above a block; depths of one column, and of more than a group of tiles, the last cut.
  for (const ptrdiff_t rows : {ptrdiff_t{1}, kBlock, kBlock + 3}) {
    for (const ptrdiff_t depth : {1, 101}) {
      PanelMatrix matrix;
      matrix.offset = 0;
      matrix.depth = depth;
      matrix.panels = 2;
      matrix.chunks = 4;
      matrix.last_chunks = 1;
      const ptrdiff_t x_stride = depth + 5;
      // At a step of 0.17 products of adjacent rows have opposite signs: even and odd rows, which tiles of few rows sum
      // apart, then have large sums that cancel, with 20 times the error.
      cases.push_back({matrix, rows, x_stride, Sine<T>(static_cast<size_t>(rows * x_stride), 0.31),
                       Sine<T>(static_cast<size_t>(2 * rows * 4 * kChunk<T>), 0.13)});
    }
  }
  return cases;
}

TEST_CASE_TEMPLATE("WeightGradient is xᵀ · dz over all rows, on every instruction set", T, float, double) {
  for (const Case<T>& each : Cases<T>()) {
    for (const Kernels* kernels : TestedKernels()) {
      const std::vector<T> expected = each.Expected(TableOfType<T>(*kernels).panel_order);
      INFO(kernels->name << ", " << each.rows << " rows, depth " << each.matrix.depth);
      CHECK(Difference(each.Computed(TableOfType<T>(*kernels), 1), expected) <= SumTolerance<T>(each.rows));
    }
  }
}

TEST_CASE("WeightGradient of rounded factors is the product of their bfloat16, on every instruction set") {
  for (const Case<float>& each : Cases<float>()) {
    Case<float> exact = each;
    exact.x = AsBfloat16(each.x);
    exact.dz = AsBfloat16(each.dz);
    for (const Kernels* kernels : RoundingKernels()) {
      const std::vector<float> expected = exact.Expected(kernels->f32.panel_order);
      INFO(kernels->name << ", " << each.rows << " rows, depth " << each.matrix.depth);
      const std::vector<float> alone = each.Computed(kernels->f32, 1, true);
      CHECK(Difference(alone, expected) <= SumTolerance<float>(each.rows));
      CHECK(each.Computed(kernels->f32, 3, true) == alone);
    }
  }
}

TEST_CASE_TEMPLATE("WeightGradient has the same bits on any number of threads", T, float, double) {
  const KernelTable<T>& kernels = TableOfType<T>(*SupportedKernels().front());
  for (const Case<T>& each : Cases<T>()) {
    const std::vector<T> alone = each.Computed(kernels, 1);
    for (const int threads : {2, 3}) CHECK(each.Computed(kernels, threads) == alone);
  }
}

}  // namespace
}  // namespace cudnn_rnn
