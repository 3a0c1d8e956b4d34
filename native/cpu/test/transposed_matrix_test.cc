#include "weights/transposed_matrix.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

// A matrix whose outputs end within a panel, and one of whole panels; the depth with and without a tail.
std::vector<NetworkOptions> Shapes() {
  std::vector<NetworkOptions> shapes;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kTanh}) {
    for (const ptrdiff_t units : {16, 37, 200}) {
      for (const ptrdiff_t inputs : {1, 64, 67, 150}) {
        shapes.push_back({cell, 1, 1, units, inputs, 0, false, true, true, INFINITY, 0, 0});
      }
    }
  }
  return shapes;
}

template <typename T>
struct Case {
  const PanelMatrix& matrix;
  std::vector<T> params;  // in the order of rows
  ptrdiff_t width, rows;
  std::vector<T> a;  // [panels][rows][width]

  // The sum over all outputs in double precision, added to what `c` holds.
  void AddTo(std::vector<T>* c) const {
    for (ptrdiff_t row = 0; row < rows; row++) {
      for (ptrdiff_t k = 0; k < matrix.depth; k++) {
        double sum = 0;
        for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
          const ptrdiff_t columns = matrix.ChunksOf(panel) * kChunk<T>;
          for (ptrdiff_t j = 0; j < columns; j++) {
            sum += static_cast<double>(a[static_cast<size_t>((panel * rows + row) * width + j)]) *
                   params[static_cast<size_t>(matrix.template PanelBegin<T>(panel) + k * columns + j)];
          }
        }
        (*c)[static_cast<size_t>(row * matrix.depth + k)] += static_cast<T>(sum);
      }
    }
  }
};

TEST_CASE_TEMPLATE("TransposedMatrix has equal products from stored and from packed panels", T, float, double) {
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  for (const NetworkOptions& options : Shapes()) {
    const Network<T> network(options, PanelOrder::kRows);
    const PanelMatrix& matrix = network.layer(0).input;
    const ptrdiff_t width = matrix.chunks * kChunk<T>;
    for (const ptrdiff_t rows : {1, 5, 30}) {
      const Case<T> each{matrix, SineParams(network), width, rows,
                         Sine<T>(static_cast<size_t>(matrix.panels * rows * width), 0.41)};
      for (const bool accumulate : {false, true}) {
        const std::vector<T> before = Sine<T>(static_cast<size_t>(rows * matrix.depth), 0.9);
        std::vector<T> expected = accumulate ? before : std::vector<T>(before.size());
        each.AddTo(&expected);
        for (const Kernels* kernels : TestedKernels()) {
          const Network<T> own = NetworkFor<T>(*kernels, options);
          const PanelMatrix& own_matrix = own.layer(0).input;
          const std::vector<T> params = SineParams(own);
          std::vector<T> packed(static_cast<size_t>(TransposedMatrix<T>::PackedSize(own_matrix)));
          const TransposedMatrix<T> stored(own_matrix, params.data(), nullptr);
          const TransposedMatrix<T> copied(own_matrix, params.data(), packed.data());
          CHECK(stored.items() == 0);
          for (ptrdiff_t item = 0; item < copied.items(); item++) copied.Pack(item);
          for (const TransposedMatrix<T>* transposed : {&stored, &copied}) {
            std::vector<T> c = before;
            // In two parts, as two threads take them.
            const ptrdiff_t middle = std::min(matrix.depth, TransposedMatrix<T>::kPanelColumns);
            const typename TransposedMatrix<T>::Product product{each.a.data(), width,        rows * width, rows,
                                                                c.data(),      matrix.depth, accumulate};
            const KernelTable<T>& table = TableOfType<T>(*kernels);
            transposed->Multiply(table, product, 0, middle);
            transposed->Multiply(table, product, middle, matrix.depth);
            INFO(kernels->name << ", " << options.units << " units, " << matrix.depth << " inputs, " << rows
                               << " rows, " << (transposed == &copied ? "packed" : "stored")
                               << (accumulate ? ", added" : ""));
            CHECK(Difference(c, expected) < tolerance);
          }
        }
      }
    }
  }
}

TEST_CASE("TransposedMatrix of rounded factors has the products of their bfloat16") {
  for (const NetworkOptions& options : Shapes()) {
    const Network<float> network(options, PanelOrder::kRows);
    const PanelMatrix& matrix = network.layer(0).input;
    const ptrdiff_t width = matrix.chunks * kChunk<float>, rows = 30;
    const std::vector<float> a = Sine<float>(static_cast<size_t>(matrix.panels * rows * width), 0.41);
    const std::vector<float> before = Sine<float>(static_cast<size_t>(rows * matrix.depth), 0.9);
    std::vector<float> expected = before;
    Case<float>{matrix, AsBfloat16(SineParams(network)), width, rows, AsBfloat16(a)}.AddTo(&expected);
    for (const Kernels* kernels : ReducedKernels()) {
      const Network<float> own = NetworkFor<float>(*kernels, options);
      const PanelMatrix& own_matrix = own.layer(0).input;
      const std::vector<float> params = SineParams(own);
      std::vector<float> packed(static_cast<size_t>(TransposedMatrix<float>::PackedSize(own_matrix)), NAN);
      const TransposedMatrix<float> transposed(own_matrix, params.data(), packed.data(), &kernels->f32.bfloat16);
      for (ptrdiff_t item = 0; item < transposed.items(); item++) transposed.Pack(item);
      std::vector<uint32_t> words(a.size());
      RowsCopy copy{0, nullptr, nullptr, words.data(), false};
      std::vector<float> c = before;
      TransposedMatrix<float>::Product product{a.data(), width, rows * width, rows, c.data(), matrix.depth, true};
      product.rows_copy = &copy;
      product.version = 1;
      transposed.Multiply(kernels->f32, product, 0, matrix.depth);
      INFO(kernels->name << ", " << options.units << " units, " << matrix.depth << " inputs");
      CHECK(Difference(c, expected) < 2e-5);
    }
  }
}

TEST_CASE("TransposedMatrix has no size for an absent matrix") {
  CHECK(TransposedMatrix<float>::PackedSize(PanelMatrix{}) == 0);
  CHECK(TransposedMatrix<float>().items() == 0);
}

TEST_CASE("TransposedMatrix is packed for many rows alone") {
  CHECK_FALSE(TransposedMatrix<float>::IsWorthPacking(1000, 1));
  CHECK_FALSE(TransposedMatrix<float>::IsWorthPacking(1, 100));
  CHECK(TransposedMatrix<float>::IsWorthPacking(64, 4));
  CHECK(TransposedMatrix<float>::IsWorthPacking(1, 256));
}

}  // namespace
}  // namespace cudnn_rnn
