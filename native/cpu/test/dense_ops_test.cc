#include "dense/dense_ops.h"
#include "dense/operations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "product_by_definition.h"
#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

template <typename T>
struct Machine {
  explicit Machine(int threads, const Kernels& kernels = kPortableKernels)
      : pool(threads), engine(EngineOf<T>(&pool, &blocks, kernels)) {}
  ThreadPool pool;
  BlockCache blocks;
  Engine<T> engine;
};

size_t Size(ptrdiff_t count) { return static_cast<size_t>(count); }

struct Sizes {
  ptrdiff_t rows, depth, columns;
};

// Rows on both sides of the limit of streamed products and of a block of 96, a depth of two blocks of 512, columns
// around whole chunks and panels of float32 and float64; depths without elements.
const std::vector<Sizes> kSizes = {{1, 1, 1},     {1, 40, 2100}, {4, 17, 65}, {5, 17, 65}, {97, 3, 31}, {7, 513, 16},
                                   {193, 64, 64}, {5, 1030, 33}, {3, 0, 20},  {6, 0, 20},  {8, 32, 8},  {33, 16, 130}};

// Operands [rows, depth] and [depth, columns], each by rows and by columns, and their product: computed once for all
// orders and kernels, as its plain loop takes longer than a kernel.
template <typename T>
struct StoredProduct {
  Sizes sizes;
  std::vector<T> a, b, expected;
  std::vector<T> a_by_columns = Transposed(a, sizes.rows, sizes.depth);
  std::vector<T> b_by_columns = Transposed(b, sizes.depth, sizes.columns);

  // The bits of `orders`: whether a, and b, lie by columns.
  Operand<T> left(int orders) const { return Stored(a, a_by_columns, sizes.rows, sizes.depth, (orders & 1) != 0); }
  Operand<T> right(int orders) const { return Stored(b, b_by_columns, sizes.depth, sizes.columns, (orders & 2) != 0); }

 private:
  static std::vector<T> Transposed(const std::vector<T>& values, ptrdiff_t rows, ptrdiff_t columns) {
    std::vector<T> transposed(values.size());
    for (ptrdiff_t i = 0; i < rows; i++) {
      for (ptrdiff_t j = 0; j < columns; j++) transposed[Size(j * rows + i)] = values[Size(i * columns + j)];
    }
    return transposed;
  }
  static Operand<T> Stored(const std::vector<T>& rows, const std::vector<T>& columns, ptrdiff_t height, ptrdiff_t width,
                           bool by_columns) {
    return by_columns ? Operand<T>{columns.data(), 1, height} : Operand<T>{rows.data(), width, 1};
  }
};

template <typename T>
StoredProduct<T> ProductOf(const Sizes& sizes) {
  const auto [rows, depth, columns] = sizes;
  const std::vector<T> a = Sine<T>(Size(rows * depth), 0.37), b = Sine<T>(Size(depth * columns), 0.77);
  return {sizes, a, b, ProductByDefinition(a, b, std::vector<T>(Size(rows * columns)), rows, depth, columns)};
}

template <typename T>
std::vector<StoredProduct<T>> Products() {
  std::vector<StoredProduct<T>> products;
  for (const Sizes& sizes : kSizes) products.push_back(ProductOf<T>(sizes));
  return products;
}

template <typename T>
std::vector<T> PlusBias(std::vector<T> product, const std::vector<T>& bias) {
  for (size_t k = 0; k < product.size(); k++) product[k] += bias[k % bias.size()];
  return product;
}

template <typename T>
constexpr double kProductTolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;

TEST_CASE("Multiply of rounded factors is the product of their bfloat16, plus the bias, but of few rows") {
  std::vector<StoredProduct<float>> products = Products<float>();
  // More than the depth of which a thread keeps the rows of a block.
  products.push_back(ProductOf<float>({97, 2100, 20}));
  for (const StoredProduct<float>& product : products) {
    const auto [rows, depth, columns] = product.sizes;
    const std::vector<float> bias = Sine<float>(Size(columns), 0.5), zeros(Size(rows * columns));
    const std::vector<float> expected_of_rounded =
        PlusBias(ProductByDefinition(AsBfloat16(product.a), AsBfloat16(product.b), zeros, rows, depth, columns), bias);
    for (const Kernels* kernels : RoundingKernels()) {
      Machine<float> one(1, *kernels), three(3, *kernels);
      one.engine.rounds_products = three.engine.rounds_products = true;
      for (int orders = 0; orders < 4; orders++) {
        // A matrix in rows is read where it lies.
        const bool is_exact = rows <= 4 && (orders & 2) == 0;
        const std::vector<float> expected = is_exact ? PlusBias(product.expected, bias) : expected_of_rounded;
        const Operand<float> left = product.left(orders), right = product.right(orders);
        std::vector<float> c(zeros.size(), NAN), shared = c;
        INFO(kernels->name << " " << rows << " x " << depth << " x " << columns << ", orders " << orders);
        Multiply<float>(one.engine, left, right, bias.data(), c.data(), rows, depth, columns);
        CHECK(Difference(c, expected) < kProductTolerance<float>);
        Multiply<float>(three.engine, left, right, bias.data(), shared.data(), rows, depth, columns);
        CHECK(shared == c);
      }
    }
  }
}

TEST_CASE_TEMPLATE("Multiply is the product of operands in any order, plus the bias", T, float, double) {
  const std::vector<StoredProduct<T>> products = Products<T>();
  for (const Kernels* kernels : TestedKernels()) {
    Machine<T> one(1, *kernels), three(3, *kernels);
    for (const StoredProduct<T>& product : products) {
      const auto [rows, depth, columns] = product.sizes;
      const std::vector<T> bias = Sine<T>(Size(columns), 0.5), plus_bias = PlusBias(product.expected, bias);
      for (int orders = 0; orders < 4; orders++) {
        const Operand<T> left = product.left(orders), right = product.right(orders);
        // Results are overwritten.
        std::vector<T> c(plus_bias.size(), std::numeric_limits<T>::quiet_NaN()), shared = c;
        INFO(kernels->name << " " << rows << " x " << depth << " x " << columns << ", orders " << orders);
        Multiply<T>(one.engine, left, right, nullptr, c.data(), rows, depth, columns);
        CHECK(Difference(c, product.expected) < kProductTolerance<T>);
        Multiply(one.engine, left, right, bias.data(), c.data(), rows, depth, columns);
        CHECK(Difference(c, plus_bias) < kProductTolerance<T>);
        Multiply(three.engine, left, right, bias.data(), shared.data(), rows, depth, columns);
        CHECK(shared == c);
      }
    }
  }
}

TEST_CASE_TEMPLATE("AddProduct adds to rows of any stride and leaves the gaps between them", T, float, double) {
  const std::vector<StoredProduct<T>> products = Products<T>();
  for (const Kernels* kernels : TestedKernels()) {
    Machine<T> machine(2, *kernels);
    for (const StoredProduct<T>& product : products) {
      const auto [rows, depth, columns] = product.sizes;
      const ptrdiff_t stride = columns + 3;
      const std::vector<T> initial = Sine<T>(Size(rows * stride), 0.21);
      std::vector<T> expected = initial;
      for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t j = 0; j < columns; j++)
          expected[Size(i * stride + j)] += product.expected[Size(i * columns + j)];
      }
      for (int orders = 0; orders < 4; orders++) {
        std::vector<T> c = initial;
        AddProduct(machine.engine, product.left(orders), product.right(orders), c.data(), stride, rows, depth, columns);
        INFO(kernels->name << " " << rows << " x " << depth << " x " << columns << ", orders " << orders);
        CHECK(Difference(c, expected) < kProductTolerance<T>);
        for (ptrdiff_t i = 0; i < rows; i++) {
          const auto gap = Size(i * stride + columns);
          REQUIRE(std::equal(&initial[gap], &initial[gap] + 3, &c[gap]));
        }
      }
    }
  }
}

TEST_CASE("Multiply and AddProduct of no rows or columns write nothing") {
  Machine<float> machine(2);
  const float a[4] = {1, 2, 3, 4};
  float c[4] = {9, 9, 9, 9};
  Multiply<float>(machine.engine, {a, 2, 1}, {a, 2, 1}, nullptr, c, 0, 2, 2);
  Multiply<float>(machine.engine, {a, 2, 1}, {a, 0, 1}, nullptr, c, 2, 2, 0);
  AddProduct<float>(machine.engine, {a, 2, 1}, {a, 2, 1}, c, 2, 0, 2, 2);
  for (const float value : c) CHECK(value == 9);
}

TEST_CASE("SumRows adds in double precision") {
  // In float32 the 1 is lost beside 1e8.
  const std::vector<float> x{1e8f, 1, 1, 2, -1e8f, 3};
  std::vector<float> sums(2);
  SumRows(x.data(), sums.data(), 3, 2);
  CHECK(sums == std::vector<float>{1, 6});
  SumRows(x.data(), sums.data(), 0, 2);
  CHECK(sums == std::vector<float>{0, 0});
}

TEST_CASE_TEMPLATE("Norm is the root of the sum of squares over all tensors", T, float, double) {
  std::vector<T> a(11, T{2}), b{T{-10}}, none;
  using Tensors = std::vector<std::pair<T*, ptrdiff_t>>;
  CHECK(Norm<T>(Tensors{{a.data(), 11}, {none.data(), 0}, {b.data(), 1}}) == doctest::Approx(12));
  CHECK(Norm<T>(Tensors{}) == 0);
  a[9] = std::numeric_limits<T>::quiet_NaN();
  CHECK(std::isnan(Norm<T>(Tensors{{a.data(), 11}})));
}

TEST_CASE("Norm of large float32 gradients is finite") {
  std::vector<float> large(16, 1e30f);
  CHECK(Norm<float>({{large.data(), 16}}) == doctest::Approx(4e30));
}

template <typename T>
struct CrossEntropy {
  T loss;
  std::vector<T> gradient;
};

template <typename T>
CrossEntropy<T> CrossEntropyOf(const Kernels& kernels, const std::vector<T>& logits, const std::vector<int32_t>& labels,
                               const std::vector<T>& weights = {}) {
  Machine<T> machine(2, kernels);
  CrossEntropy<T> result{0, std::vector<T>(logits.size(), std::numeric_limits<T>::quiet_NaN())};
  OperationOperands<T> on{};
  const std::vector<const T*> data = {&result.loss, result.gradient.data(), logits.data(),
                                      weights.empty() ? nullptr : weights.data()};
  for (size_t k = 0; k < data.size(); k++) on.data[k] = const_cast<T*>(data[k]);
  on.integers = labels.data();
  on.numbers[0] = static_cast<double>(labels.size());
  on.numbers[1] = static_cast<double>(logits.size() / labels.size());
  RunOperation(machine.engine, Operation::kSoftmaxCrossEntropy, on);
  return result;
}

TEST_CASE_TEMPLATE("SoftmaxCrossEntropy of equal logits is the logarithm of their number", T, float, double) {
  for (const Kernels* kernels : TestedKernels()) {
    for (const size_t classes : {1, 2, 8, 16, 17, 100}) {
      // Exponentials of 1000 overflow if the maximum is not subtracted.
      for (const T logit : {T{0}, T{1000}, T{-1000}}) {
        const auto [loss, gradient] = CrossEntropyOf<T>(*kernels, std::vector<T>(classes, logit), {0});
        INFO(kernels->name << ", " << classes << " classes of " << logit);
        CHECK(loss == doctest::Approx(std::log(static_cast<double>(classes))).epsilon(1e-6));
        for (size_t k = 0; k < classes; k++) {
          CHECK(gradient[k] == doctest::Approx(1.0 / static_cast<double>(classes) - (k == 0)).epsilon(1e-6));
        }
      }
    }
  }
}

TEST_CASE("SoftmaxCrossEntropy returns the derivative of its loss") {
  const std::vector<int32_t> labels{3, 0, 18};
  const std::vector<double> weights{1, 0.5, 2};
  std::vector<double> logits = Sine<double>(3 * 19, 1.3);
  for (const Kernels* kernels : TestedKernels()) {
    const auto [loss, gradient] = CrossEntropyOf(*kernels, logits, labels, weights);
    for (size_t k = 0; k < logits.size(); k += 5) {
      const auto at = [&](double shift) {
        std::vector<double> moved = logits;
        moved[k] += shift;
        return CrossEntropyOf(*kernels, moved, labels, weights).loss;
      };
      CHECK(gradient[k] == doctest::Approx((at(1e-5) - at(-1e-5)) / 2e-5).epsilon(1e-6));
    }
  }
}

TEST_CASE_TEMPLATE("SoftmaxCrossEntropy leaves rows of weight 0 out for any logits", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> row{T{0.5}, T{-1}, T{2}};
  const auto alone = CrossEntropyOf<T>(kPortableKernels, row, {1});
  for (const T padding : {T{7}, std::numeric_limits<T>::infinity(), nan}) {
    std::vector<T> logits = row;
    logits.insert(logits.end(), 3, padding);
    const auto masked = CrossEntropyOf<T>(kPortableKernels, logits, {1, 0}, {1, 0});
    CHECK(masked.loss == alone.loss);
    for (size_t k = 0; k < 6; k++) CHECK(masked.gradient[k] == (k < 3 ? alone.gradient[k] : 0));
  }
  const auto none = CrossEntropyOf<T>(kPortableKernels, {nan, nan}, {0}, {0});
  CHECK(none.loss == 0);
  CHECK(none.gradient == std::vector<T>{0, 0});
}

TEST_CASE("SoftmaxCrossEntropy of a NaN is NaN") {
  for (const Kernels* kernels : TestedKernels()) {
    // Neither the label's logit nor the largest one.
    for (const size_t at : {0, 3, 16}) {
      std::vector<float> logits = Sine<float>(17, 0.4);
      logits[at] = std::numeric_limits<float>::quiet_NaN();
      CHECK(std::isnan(CrossEntropyOf<float>(*kernels, logits, {5}).loss));
    }
  }
}

TEST_CASE("ForEach passes each index once, in parts of a fixed size for any number of threads") {
  for (const int threads : {1, 3}) {
    Machine<float> machine(threads);
    for (const ptrdiff_t count : {0, 1, 7, 8, 9, 80, 81}) {
      std::vector<int> seen(Size(count));
      std::atomic<int> uneven{0};
      ForEach<float>(machine.engine, count, 8, [&](ptrdiff_t begin, ptrdiff_t end) {
        if (begin % 8 != 0 || (end != count && end - begin != 8)) uneven++;
        for (ptrdiff_t k = begin; k < end; k++) seen[Size(k)]++;
      });
      CHECK(uneven == 0);
      CHECK(seen == std::vector<int>(Size(count), 1));
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
