// Gradients against differences of the forward, and the values at the ends of each operation's range.
#include "dense/operations.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

// The indices of packages/ops/src/executor/kernels/kernel_boundary.ts.
enum Activation { kTanh, kSigmoid, kRelu, kElu, kSoftplus, kSoftmax };
enum Pooling { kLast, kMean, kMax };
enum Loss { kSquaredError, kAbsoluteError, kSigmoidCrossEntropy };

using Values = std::vector<double>;

template <typename T>
void Run(Operation op, std::vector<T*> data, std::vector<double> numbers, const int32_t* lengths = nullptr,
         const Kernels& kernels = kPortableKernels) {
  // Differences of a forward are hundreds of runs, each shorter than the start of a thread.
  static ThreadPool pool(2);
  static BlockCache blocks;
  OperationOperands<T> operands{};
  std::copy(data.begin(), data.end(), operands.data);
  std::copy(numbers.begin(), numbers.end(), operands.numbers);
  operands.integers = lengths;
  RunOperation(EngineOf<T>(&pool, &blocks, kernels), op, operands);
}

double Dot(const Values& a, const Values& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Checks `gradient` against the differences of `loss` by each element of `x`.
template <typename Loss>
void CheckGradient(const Values& gradient, Values x, const Loss& loss) {
  constexpr double kStep = 1e-5;
  REQUIRE(gradient.size() == x.size());
  for (size_t k = 0; k < x.size(); k++) {
    const double at = x[k];
    x[k] = at + kStep;
    const double above = loss(x);
    x[k] = at - kStep;
    const double below = loss(x);
    x[k] = at;
    INFO("element " << k);
    CHECK(std::abs(gradient[k] - (above - below) / (2 * kStep)) < 1e-8);
  }
}

template <typename T>
std::vector<T> Activate(Activation activation, std::vector<T> x, size_t rows, double maximum = kInfinity,
                        const Kernels& kernels = kPortableKernels) {
  std::vector<T> y(x.size(), T{-7});
  const double columns = static_cast<double>(x.size() / rows);
  Run<T>(Operation::kActivate, {y.data(), x.data()},
         {static_cast<double>(activation), static_cast<double>(rows), columns, maximum}, nullptr, kernels);
  return y;
}

TEST_CASE_TEMPLATE("activate has the limits of its functions", T, float, double) {
  // 17 elements: one after the last whole vector.
  std::vector<T> x(17, T{0});
  const T infinity = std::numeric_limits<T>::infinity();
  const T ends[] = {-infinity, T{-1e4}, T{0}, T{1e4}, infinity};
  const double expected[5][5] = {
      {-1, -1, 0, 1, 1},
      {0, 0, 0.5, 1, 1},
      {0, 0, 0, 1e4, kInfinity},
      {-1, -1, 0, 1e4, kInfinity},
      {0, 0, std::log(2.0), 1e4, kInfinity},
  };
  for (const Kernels* kernels : TestedKernels()) {
    for (const Activation activation : {kTanh, kSigmoid, kRelu, kElu, kSoftplus}) {
      for (size_t end = 0; end < 5; end++) {
        x.front() = x.back() = ends[end];
        const std::vector<T> y = Activate(activation, x, 1, kInfinity, *kernels);
        INFO(kernels->name << ", activation " << static_cast<int>(activation) << " of " << ends[end]);
        for (const T value : {y.front(), y.back()}) {
          if (std::isinf(expected[activation][end])) {
            CHECK(static_cast<double>(value) == expected[activation][end]);
          } else {
            CHECK(value == doctest::Approx(expected[activation][end]).epsilon(1e-6));
          }
        }
      }
    }
  }
}

TEST_CASE("activate keeps NaN in every function, with and without a maximum") {
  for (const Kernels* kernels : TestedKernels()) {
    for (const Activation activation : {kTanh, kSigmoid, kRelu, kElu, kSoftplus}) {
      std::vector<float> x(17, 0.5f);
      x.front() = x.back() = std::numeric_limits<float>::quiet_NaN();
      for (const double maximum : {0.6, kInfinity}) {
        const std::vector<float> y = Activate(activation, x, 1, maximum, *kernels);
        CHECK(std::isnan(y.front()));
        CHECK(std::isnan(y.back()));
        CHECK_FALSE(std::isnan(y[1]));
      }
    }
  }
}

TEST_CASE("activate is bounded by the maximum") {
  CHECK(Activate<double>(kRelu, {-1, 2, 6, 7, kInfinity}, 1, 6) == Values{0, 2, 6, 6, 6});
}

TEST_CASE("activate of softmax has rows of sum 1 for logits of any size") {
  const Values y = Activate<double>(kSoftmax, {1000, 1000, -1000, -1000, 0, std::log(3.0)}, 3);
  const Values expected{0.5, 0.5, 0.5, 0.5, 0.25, 0.75};
  // The second row has two equal logits of -1000, whose exponentials underflow unshifted.
  for (size_t k = 0; k < 2; k++) CHECK(y[k] == doctest::Approx(expected[k]));
  for (size_t k = 4; k < 6; k++) CHECK(y[k] == doctest::Approx(expected[k]));
  CHECK(y[2] == doctest::Approx(0.5));
  CHECK(y[3] == doctest::Approx(0.5));
  const Values nan = Activate<double>(kSoftmax, {0, kNan, 0, 1, 1, 1}, 2);
  for (size_t k = 0; k < 3; k++) CHECK(std::isnan(nan[k]));
  for (size_t k = 3; k < 6; k++) CHECK(nan[k] == doctest::Approx(1.0 / 3));
}

TEST_CASE("activationGradient is the derivative of activate") {
  // No element within a step of 0, where relu and elu have a corner.
  const Values x{-3, -1, -0.2, 0.3, 0.9, 2}, dy{1, -2, 0.5, 3, -0.25, 1.5};
  for (const Activation activation : {kTanh, kSigmoid, kRelu, kElu, kSoftplus, kSoftmax}) {
    for (const double maximum : {kInfinity, 0.8}) {
      // A softmax has no maximum.
      if (activation == kSoftmax && std::isfinite(maximum)) continue;
      const Values y = Activate(activation, x, 2, maximum);
      Values dx(x.size());
      Run<double>(Operation::kActivationGradient,
                  {dx.data(), const_cast<double*>(y.data()), const_cast<double*>(dy.data())},
                  {static_cast<double>(activation), 2, 3, maximum});
      INFO("activation " << static_cast<int>(activation) << ", maximum " << maximum);
      CheckGradient(dx, x, [&](const Values& at) { return Dot(Activate(activation, at, 2, maximum), dy); });
    }
  }
}

TEST_CASE("dropout draws the same mask for a forward and its backward, and another for another draw or seed") {
  // More elements than one thread takes at a time.
  constexpr double kCount = 40000;
  const auto mask = [](double seed, double draw, double rate) {
    std::vector<float> y(static_cast<size_t>(kCount)), ones(y.size(), 1.0f);
    Run<float>(Operation::kDropout, {y.data(), ones.data()},
               {kCount, seed, 0, draw, 0, std::round(rate * 0x1p24), 1 / (1 - rate)});
    return y;
  };
  const std::vector<float> first = mask(1, 1, 0.5);
  CHECK(mask(1, 1, 0.5) == first);
  CHECK(mask(1, 2, 0.5) != first);
  CHECK(mask(2, 1, 0.5) != first);
  const double kept = std::accumulate(first.begin(), first.end(), 0.0) / 2;
  // The standard deviation is 100. The seed is fixed.
  CHECK(std::abs(kept - kCount / 2) < 500);
  CHECK(mask(1, 1, 0) == std::vector<float>(static_cast<size_t>(kCount), 1.0f));
}

constexpr double kEpsilon = 1e-3;

Values LayerNorm(const Values& x, const Values& gamma, const Values& beta) {
  Values y(x.size());
  const double columns = static_cast<double>(gamma.size());
  Run<double>(
      Operation::kLayerNorm,
      {y.data(), const_cast<double*>(x.data()), const_cast<double*>(gamma.data()), const_cast<double*>(beta.data())},
      {static_cast<double>(x.size()) / columns, columns, kEpsilon});
  return y;
}

TEST_CASE("layerNorm gives each row the mean beta and the deviation gamma") {
  const Values y = LayerNorm({1e6 + 10, 1e6 - 20, 1e6 + 30, 1e6, 5, 5, 5, 5}, {2, 2, 2, 2}, {1, 1, 1, 1});
  double mean = 0, variance = 0;
  for (size_t k = 0; k < 4; k++) mean += y[k] / 4;
  for (size_t k = 0; k < 4; k++) variance += (y[k] - mean) * (y[k] - mean) / 4;
  CHECK(mean == doctest::Approx(1));
  CHECK(variance == doctest::Approx(4).epsilon(1e-4));
  // A constant row has the variance 0; epsilon keeps the quotient finite.
  for (size_t k = 4; k < 8; k++) CHECK(y[k] == 1);
}

TEST_CASE("layerNormGradients are the derivatives of layerNorm") {
  // 19 columns: two parts of columns, the second one not whole.
  const Values x = Sine<double>(3 * 19, 1.7), gamma = Sine<double>(19, 0.6), beta = Sine<double>(19, 0.4);
  const Values dy = Sine<double>(3 * 19, 2.1);
  Values dx(x.size()), d_gamma(19), d_beta(19);
  Run<double>(Operation::kLayerNormGradients,
              {dx.data(), d_gamma.data(), d_beta.data(), const_cast<double*>(x.data()),
               const_cast<double*>(gamma.data()), const_cast<double*>(dy.data())},
              {3, 19, kEpsilon});
  CheckGradient(dx, x, [&](const Values& at) { return Dot(LayerNorm(at, gamma, beta), dy); });
  CheckGradient(d_gamma, gamma, [&](const Values& at) { return Dot(LayerNorm(x, at, beta), dy); });
  CheckGradient(d_beta, beta, [&](const Values& at) { return Dot(LayerNorm(x, gamma, at), dy); });
}

// [T 3, B 3, E 2]; the lengths come from JavaScript and may be out of range.
const std::vector<int32_t> kLengths{2, 0, 3};

Values Sequence() {
  Values x(18);
  std::iota(x.begin(), x.end(), 1);
  return x;
}

Values Reverse(Values x, const int32_t* lengths) {
  Values y(x.size(), -1);
  Run<double>(Operation::kReverseSequence, {y.data(), x.data()}, {3, 3, 2}, lengths);
  return y;
}

TEST_CASE("reverseSequence reverses each row's own steps and clears the others") {
  // Step t of row b has the values 6t + 2b + 1 and 6t + 2b + 2.
  CHECK(Reverse(Sequence(), kLengths.data()) == Values{7, 8, 0, 0, 17, 18, 1, 2, 0, 0, 11, 12, 0, 0, 0, 0, 5, 6});
  CHECK(Reverse(Reverse(Sequence(), nullptr), nullptr) == Sequence());
  const int32_t outside[] = {-5, 4, 2000000000};
  const int32_t clamped[] = {0, 3, 3};
  CHECK(Reverse(Sequence(), outside) == Reverse(Sequence(), clamped));
}

Values Pool(Values x, const int32_t* lengths, Pooling pooling, double reversed_from) {
  Values y(6, -1);
  Run<double>(Operation::kPoolSequence, {y.data(), x.data()}, {3, 3, 2, static_cast<double>(pooling), reversed_from},
              lengths);
  return y;
}

TEST_CASE("poolSequence takes the last step, the mean or the maximum of each row's own steps") {
  const Values x = Sequence();
  CHECK(Pool(x, kLengths.data(), kLast, 2) == Values{7, 8, 0, 0, 17, 18});
  // The last step of a backward direction is step 0.
  CHECK(Pool(x, kLengths.data(), kLast, 1) == Values{7, 2, 0, 0, 17, 6});
  CHECK(Pool(x, kLengths.data(), kMean, 2) == Values{4, 5, 0, 0, 11, 12});
  CHECK(Pool(x, kLengths.data(), kMax, 2) == Values{7, 8, 0, 0, 17, 18});
  CHECK(Pool(x, nullptr, kLast, 2) == Values{13, 14, 15, 16, 17, 18});
  const int32_t outside[] = {-1, 4, 3};
  CHECK(Pool(x, outside, kMean, 2) == Values{0, 0, 9, 10, 11, 12});
}

TEST_CASE("poolSequence does not read past a row's end, and takes NaN as the maximum") {
  Values x = Sequence();
  for (const size_t at : {12, 13}) x[at] = kNan;  // step 2 of row 0, whose length is 2
  for (const Pooling pooling : {kLast, kMean, kMax}) {
    CHECK(Pool(x, kLengths.data(), pooling, 2) == Pool(Sequence(), kLengths.data(), pooling, 2));
  }
  x[0] = kNan;
  CHECK(std::isnan(Pool(x, kLengths.data(), kMax, 2)[0]));
}

TEST_CASE("poolSequenceGradient is the derivative of poolSequence") {
  const Values x = Sine<double>(18, 1.9), dy{1, -2, 3, -4, 5, -6};
  for (const Pooling pooling : {kLast, kMean, kMax}) {
    for (const int32_t* lengths : {static_cast<const int32_t*>(nullptr), kLengths.data()}) {
      Values dx(18, -1);
      Run<double>(Operation::kPoolSequenceGradient,
                  {dx.data(), const_cast<double*>(x.data()), const_cast<double*>(dy.data())},
                  {3, 3, 2, static_cast<double>(pooling), 1}, lengths);
      INFO("pooling " << static_cast<int>(pooling));
      CheckGradient(dx, x, [&](const Values& at) { return Dot(Pool(at, lengths, pooling, 1), dy); });
    }
  }
}

TEST_CASE("poolSequenceGradient of equal maxima goes to the first") {
  Values x(18, 2), dx(18, -1), dy(6, 1);
  Run<double>(Operation::kPoolSequenceGradient, {dx.data(), x.data(), dy.data()}, {3, 3, 2, kMax, 2});
  for (size_t k = 0; k < 18; k++) CHECK(dx[k] == (k < 6 ? 1 : 0));
}

struct Attention {
  Values output = Values(6, -1), weights = Values(9, -1);
};

Attention Attend(Values x, Values scores, const int32_t* lengths) {
  Attention result;
  Run<double>(Operation::kAttend, {result.output.data(), result.weights.data(), x.data(), scores.data()}, {3, 3, 2},
              lengths);
  return result;
}

TEST_CASE("attend weighs each row's own steps with the sum 1") {
  Values x = Sequence(), scores = Sine<double>(9, 1.1);
  const auto [output, weights] = Attend(x, scores, kLengths.data());
  for (size_t row = 0; row < 3; row++) {
    double sum = 0, first = 0;
    for (size_t t = 0; t < 3; t++) {
      sum += weights[t * 3 + row];
      first += weights[t * 3 + row] * x[(t * 3 + row) * 2];
    }
    // The row of no steps has no weights.
    CHECK(sum == doctest::Approx(row == 1 ? 0 : 1));
    CHECK(output[row * 2] == doctest::Approx(first));
  }
  CHECK(weights[6] == 0);
  x[12] = scores[6] = kNan;  // step 2 of row 0
  CHECK(Attend(x, scores, kLengths.data()).output == output);
}

struct AttentionGradients {
  Values dx = Values(18, -1), d_scores = Values(9, -1);
};

AttentionGradients GradientsOf(Values x, Values weights, Values dy) {
  AttentionGradients result;
  Run<double>(Operation::kAttendGradients,
              {result.dx.data(), result.d_scores.data(), x.data(), weights.data(), dy.data()}, {3, 3, 2});
  return result;
}

TEST_CASE("attendGradients are the derivatives of attend") {
  const Values x = Sine<double>(18, 1.9), scores = Sine<double>(9, 1.1), dy{1, -2, 3, -4, 5, -6};
  const auto [dx, d_scores] = GradientsOf(x, Attend(x, scores, kLengths.data()).weights, dy);
  CheckGradient(dx, x, [&](const Values& at) { return Dot(Attend(at, scores, kLengths.data()).output, dy); });
  CheckGradient(d_scores, scores, [&](const Values& at) { return Dot(Attend(x, at, kLengths.data()).output, dy); });
}

// The forward does not read them.
TEST_CASE("attendGradients do not depend on steps past a row's end") {
  Values x = Sine<double>(18, 1.9);
  const Values weights = Attend(x, Sine<double>(9, 1.1), kLengths.data()).weights, dy{1, -2, 3, -4, 5, -6};
  const auto expected = GradientsOf(x, weights, dy);
  x[12] = kNan;      // step 2 of row 0
  x[3] = kInfinity;  // row 1 has no steps
  const auto actual = GradientsOf(x, weights, dy);
  CHECK(actual.dx == expected.dx);
  CHECK(actual.d_scores == expected.d_scores);
}

struct LossResult {
  double loss = -1;
  Values gradient;
};

LossResult LossOf(Loss loss, Values predictions, Values targets, Values weights) {
  LossResult result{-1, Values(predictions.size(), -1)};
  const double rows = static_cast<double>(predictions.size()) / 2;
  Run<double>(Operation::kElementLoss,
              {&result.loss, result.gradient.data(), predictions.data(), targets.data(),
               weights.empty() ? nullptr : weights.data()},
              {static_cast<double>(loss), rows, 2});
  return result;
}

TEST_CASE("elementLoss is the weighted mean, with its derivative") {
  const Values predictions{0.5, -1, 2, 40, -40, 0.1}, targets{1, 0, 0.25, 1, 0, 0.9};
  CHECK(LossOf(kSquaredError, {3, 1}, {1, 1}, {}).loss == doctest::Approx(2));
  CHECK(LossOf(kAbsoluteError, {3, 1, 0, 0}, {1, 1, 4, 4}, {1, 3}).loss == doctest::Approx((1 + 3 * 4) / 4.0));
  for (const Loss loss : {kSquaredError, kAbsoluteError, kSigmoidCrossEntropy}) {
    for (const Values& weights : {Values{}, Values{1, 0, 2}}) {
      const Values gradient = LossOf(loss, predictions, targets, weights).gradient;
      INFO("loss " << static_cast<int>(loss));
      CheckGradient(gradient, predictions, [&](const Values& at) { return LossOf(loss, at, targets, weights).loss; });
    }
  }
}

TEST_CASE("elementLoss of a sigmoid is finite for logits whose exponentials overflow") {
  CHECK(LossOf(kSigmoidCrossEntropy, {1e4, -1e4}, {1, 0}, {}).loss == 0);
  CHECK(LossOf(kSigmoidCrossEntropy, {1e4, -1e4}, {0, 1}, {}).loss == doctest::Approx(1e4));
}

TEST_CASE("elementLoss leaves rows of weight 0 out for any values, and is 0 without others") {
  const LossResult masked = LossOf(kSquaredError, {3, 1, kNan, kInfinity}, {1, 1, 0, kNan}, {1, 0});
  CHECK(masked.loss == doctest::Approx(2));
  CHECK(masked.gradient == Values{2, 0, 0, 0});
  const LossResult none = LossOf(kSquaredError, {kNan, 1}, {1, 1}, {0});
  CHECK(none.loss == 0);
  CHECK(none.gradient == Values{0, 0});
  CHECK(std::isnan(LossOf(kAbsoluteError, {kNan, 1}, {1, 1}, {}).gradient[0]));
}

}  // namespace
}  // namespace cudnn_rnn
