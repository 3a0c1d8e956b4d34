// The rules against closed forms of several steps.
#include "dense/optimizer_updates.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "test_values.h"

namespace cudnn_rnn {
namespace {

// One parameter with two slots.
template <typename T>
struct Variable {
  T x = 1, first = 0, second = 0;

  void Step(Operation rule, std::vector<T*> operands, std::vector<double> numbers) {
    OperationOperands<T> update{};
    std::copy(operands.begin(), operands.end(), update.data);
    std::copy(numbers.begin(), numbers.end(), update.numbers);
    ApplyUpdate(rule, update, 0, 1);
  }
  void Momentum(T gradient, double rate, double momentum, bool nesterov, bool rate_in_velocity) {
    Step(Operation::kMomentum, {&x, &first, &gradient},
         {rate, momentum, static_cast<double>(nesterov), static_cast<double>(rate_in_velocity)});
  }
  void Adam(T gradient, double rate, double beta1, double beta2, double epsilon, int step) {
    Step(Operation::kAdam, {&x, &first, &second, &gradient}, {rate, beta1, beta2, epsilon, static_cast<double>(step)});
  }
  void RmsProp(T gradient, double rate, double decay, double momentum, double epsilon, bool in_root, bool in_velocity) {
    Step(Operation::kRmsProp, {&x, &first, &second, &gradient},
         {rate, decay, momentum, epsilon, static_cast<double>(in_root), static_cast<double>(in_velocity)});
  }
  void Adagrad(T gradient, double rate, double epsilon, bool in_root) {
    Step(Operation::kAdagrad, {&x, &first, &gradient}, {rate, epsilon, static_cast<double>(in_root)});
  }
};

template <typename T>
doctest::Approx Near(double value) {
  return doctest::Approx(value).epsilon(sizeof(T) == 4 ? 1e-5 : 1e-12);
}

// v_n = g·(1 - m^n)/(1 - m) for a constant gradient.
TEST_CASE_TEMPLATE("momentum of a constant gradient is a geometric sum", T, float, double) {
  Variable<T> variable;
  double x = 1;
  for (int n = 1; n <= 20; n++) {
    variable.Momentum(T{2}, 0.01, 0.9, false, false);
    const double v = 2 * (1 - std::pow(0.9, n)) / (1 - 0.9);
    x -= 0.01 * v;
    CHECK(variable.first == Near<T>(v));
    CHECK(variable.x == Near<T>(x));
  }
}

TEST_CASE_TEMPLATE("momentum moves equally with the rate inside and outside of the velocity", T, float, double) {
  for (const bool nesterov : {false, true}) {
    Variable<T> outside, inside;
    for (int n = 0; n < 20; n++) {
      const T gradient = static_cast<T>(std::sin(n));
      outside.Momentum(gradient, 0.01, 0.9, nesterov, false);
      inside.Momentum(gradient, 0.01, 0.9, nesterov, true);
      CHECK(inside.x == Near<T>(outside.x));
      CHECK(inside.first == doctest::Approx(0.01 * outside.first).epsilon(1e-4));
    }
  }
}

// Nesterov's step is g + m·v' with v' = m·v + g: for the first step (1 + m)·g.
TEST_CASE("momentum evaluates Nesterov's step after the momentum") {
  Variable<double> variable;
  variable.Momentum(3, 0.1, 0.5, true, false);
  CHECK(variable.x == doctest::Approx(1 - 0.1 * 3 * 1.5));
}

TEST_CASE_TEMPLATE("Adam's first step has the length of the rate for any gradient", T, float, double) {
  for (const double gradient : {1e-6, 1.0, -3e5}) {
    Variable<T> variable;
    variable.Adam(static_cast<T>(gradient), 0.01, 0.9, 0.999, 0, 1);
    CHECK(variable.x == Near<T>(1 - std::copysign(0.01, gradient)));
  }
}

// m_t = (1-β₁)·Σ_s β₁^(t-s)·g_s and the same for v_t: the sums of section 3 of Kingma and Ba, not the recurrences.
TEST_CASE_TEMPLATE("Adam's moments are the weighted sums of all gradients", T, float, double) {
  constexpr double kBeta1 = 0.8, kBeta2 = 0.95, kRate = 0.01, kEpsilon = 1e-3;
  Variable<T> variable;
  double x = 1;
  const auto gradient_at = [](int step) { return static_cast<T>(std::cos(3 * step) + 0.2); };
  for (int t = 1; t <= 15; t++) {
    variable.Adam(gradient_at(t), kRate, kBeta1, kBeta2, kEpsilon, t);
    double m = 0, v = 0;
    for (int s = 1; s <= t; s++) {
      const double g = gradient_at(s);
      m += (1 - kBeta1) * std::pow(kBeta1, t - s) * g;
      v += (1 - kBeta2) * std::pow(kBeta2, t - s) * g * g;
    }
    x -= kRate * (m / (1 - std::pow(kBeta1, t))) / (std::sqrt(v / (1 - std::pow(kBeta2, t))) + kEpsilon);
    CHECK(variable.first == Near<T>(m));
    CHECK(variable.second == Near<T>(v));
    CHECK(variable.x == Near<T>(x));
  }
}

// 1 - 0.999 in float32 arithmetic is 1.00005e-3: the moment would be wrong in its fifth digit.
TEST_CASE("Adam forms 1 - beta in double precision") {
  Variable<float> variable;
  variable.Adam(1.0f, 0.01, 0.9, 0.999, 1e-8, 1);
  CHECK(variable.second == static_cast<float>(1 - 0.999));
}

TEST_CASE_TEMPLATE("RMSProp adds epsilon inside or outside of the root", T, float, double) {
  // s = 0.1 · 4 = 0.4 after the first step.
  Variable<T> inside, outside;
  inside.RmsProp(T{2}, 0.1, 0.9, 0, 0.01, true, false);
  outside.RmsProp(T{2}, 0.1, 0.9, 0, 0.01, false, false);
  CHECK(inside.x == Near<T>(1 - 0.1 * 2 / std::sqrt(0.41)));
  CHECK(outside.x == Near<T>(1 - 0.1 * 2 / (std::sqrt(0.4) + 0.01)));
}

TEST_CASE_TEMPLATE("RMSProp moves equally with the rate inside and outside of the velocity", T, float, double) {
  Variable<T> inside, outside;
  for (int n = 0; n < 10; n++) {
    const T gradient = static_cast<T>(std::sin(n + 1));
    inside.RmsProp(gradient, 0.01, 0.9, 0.5, 1e-4, true, true);
    outside.RmsProp(gradient, 0.01, 0.9, 0.5, 1e-4, true, false);
    CHECK(inside.x == Near<T>(outside.x));
  }
}

// s_n = n·g², so the step n is rate/√n.
TEST_CASE_TEMPLATE("Adagrad's steps shrink with the root of their number", T, float, double) {
  Variable<T> variable;
  double x = 1;
  for (int n = 1; n <= 25; n++) {
    variable.Adagrad(T{7}, 0.1, 0, false);
    x -= 0.1 / std::sqrt(n);
    CHECK(variable.x == Near<T>(x));
    CHECK(variable.first == T{49} * static_cast<T>(n));
  }
}

TEST_CASE_TEMPLATE("weight decay shrinks all elements, or those of the mask", T, float, double) {
  std::vector<T> x{1, -2, 3};
  std::vector<T> mask{1, 0, T{0.5}};
  OperationOperands<T> update{{x.data(), nullptr}, 3, nullptr, {0.25}};
  ApplyUpdate(Operation::kWeightDecay, update, 0, 3);
  CHECK(x == std::vector<T>{T{0.75}, T{-1.5}, T{2.25}});
  update.data[1] = mask.data();
  ApplyUpdate(Operation::kWeightDecay, update, 0, 3);
  CHECK(x == std::vector<T>{T{0.5625}, T{-1.5}, T{1.96875}});
}

TEST_CASE_TEMPLATE("clip limits both signs and infinities, and keeps NaN and the sign of zero", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity();
  std::vector<T> x{5, -5, infinity, -infinity, 2, -2, T{-0.0}, std::numeric_limits<T>::quiet_NaN()};
  const OperationOperands<T> update{{x.data()}, 8, nullptr, {2}};
  ApplyUpdate(Operation::kClip, update, 0, static_cast<ptrdiff_t>(x.size()));
  const std::vector<T> expected{2, -2, 2, -2, 2, -2, 0};
  for (size_t k = 0; k < expected.size(); k++) CHECK(x[k] == expected[k]);
  CHECK(std::signbit(x[6]));
  CHECK(std::isnan(x[7]));
}

TEST_CASE_TEMPLATE("every rule changes the elements of its range alone, and equally in any parts", T, float, double) {
  constexpr ptrdiff_t kCount = 41;
  for (const Operation rule : {Operation::kAssign, Operation::kAddScaled, Operation::kMomentum, Operation::kAdam,
                               Operation::kRmsProp, Operation::kAdagrad, Operation::kWeightDecay, Operation::kClip}) {
    const std::vector<T> initial[4] = {Sine<T>(kCount, 0.3), std::vector<T>(kCount, T{0.5}),
                                       std::vector<T>(kCount, T{0.25}), Sine<T>(kCount, 0.7)};
    const auto run = [&](std::vector<ptrdiff_t> bounds) {
      std::vector<std::vector<T>> data(std::begin(initial), std::end(initial));
      OperationOperands<T> update{{data[0].data(), data[1].data(), data[2].data(), data[3].data()},
                                  kCount,
                                  nullptr,
                                  {0.1, 0.9, 0.99, 0.01, 1, 0}};
      for (size_t k = 1; k < bounds.size(); k++) ApplyUpdate(rule, update, bounds[k - 1], bounds[k]);
      return data;
    };
    INFO("rule " << static_cast<int>(rule));
    const auto whole = run({0, kCount});
    CHECK(run({0, 1, 17, 32, kCount}) == whole);
    const auto middle = run({5, 20});
    for (size_t part = 0; part < 4; part++) {
      for (ptrdiff_t k = 0; k < kCount; k++) {
        const bool is_inside = k >= 5 && k < 20;
        REQUIRE(middle[part][k] == (is_inside ? whole : std::vector(std::begin(initial), std::end(initial)))[part][k]);
      }
    }
    CHECK(middle[0] != initial[0]);
  }
}

}  // namespace
}  // namespace cudnn_rnn
