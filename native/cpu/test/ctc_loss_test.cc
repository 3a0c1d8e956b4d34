// The loss against the sum over all K^T paths, its gradient against differences.
#include "dense/ctc_loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

struct CtcCase {
  ptrdiff_t time;
  ptrdiff_t classes;
  std::vector<std::vector<int32_t>> labels;  // by row
  std::vector<int32_t> logit_lengths;
  int32_t blank = 0;
  bool merge_repeated = true;
  InfeasibleRows infeasible = InfeasibleRows::kInfinite;
  std::vector<double> row_weights = {};
};

template <typename T>
struct CtcResult {
  T loss;
  std::vector<T> row_losses, gradient;
};

template <typename T>
CtcResult<T> Run(const CtcCase& each, const std::vector<T>& logits, const Kernels& kernels = kPortableKernels,
                 int threads = 1) {
  const size_t batch = each.labels.size();
  size_t most = 1;
  for (const auto& row : each.labels) most = std::max(most, row.size());
  // Labels past a row's own are not classes.
  std::vector<int32_t> labels(batch * most, -1), lengths;
  for (size_t row = 0; row < batch; row++) {
    std::copy(each.labels[row].begin(), each.labels[row].end(), labels.begin() + static_cast<ptrdiff_t>(row * most));
    lengths.push_back(static_cast<int32_t>(each.labels[row].size()));
  }
  const std::vector<double> weights = each.row_weights.empty() ? std::vector<double>(batch, 1.0) : each.row_weights;
  CtcResult<T> result{0, std::vector<T>(batch, T{-7}), std::vector<T>(logits.size(), T{-7})};
  CtcProblem<T> problem{};
  problem.time = each.time;
  problem.batch = static_cast<ptrdiff_t>(batch);
  problem.classes = each.classes;
  problem.max_labels = static_cast<ptrdiff_t>(most);
  problem.logits = logits.data();
  problem.labels = labels.data();
  problem.label_lengths = lengths.data();
  problem.logit_lengths = each.logit_lengths.data();
  problem.row_weights = weights.data();
  problem.blank = each.blank;
  problem.merge_repeated = each.merge_repeated;
  problem.infeasible = each.infeasible;
  problem.row_losses = result.row_losses.data();
  problem.gradient = result.gradient.data();
  ThreadPool pool(threads);
  BlockCache blocks;
  result.loss = CtcLoss(EngineOf<T>(&pool, &blocks, kernels), kernels.ctc, problem);
  return result;
}

template <typename T>
std::vector<T> LogitsOf(const CtcCase& each) {
  std::vector<T> logits = Sine<T>(static_cast<size_t>(each.time * each.classes) * each.labels.size(), 2.3);
  for (T& logit : logits) logit *= 5;
  return logits;
}

// The labels that a path spells. Without merging, equal neighbors are two labels.
std::vector<int32_t> Spelled(const std::vector<int32_t>& path, const CtcCase& each) {
  std::vector<int32_t> labels;
  for (size_t t = 0; t < path.size(); t++) {
    const bool is_repeated = each.merge_repeated && t > 0 && path[t] == path[t - 1];
    if (path[t] != each.blank && !is_repeated) labels.push_back(path[t]);
  }
  return labels;
}

// -ln of the probability of all paths that spell the labels of a row.
double LossByPaths(const CtcCase& each, const std::vector<double>& logits, size_t row) {
  const size_t time = static_cast<size_t>(each.logit_lengths[row]), classes = static_cast<size_t>(each.classes);
  const auto probability = [&](size_t t, size_t k) {
    const double* z = logits.data() + (t * each.labels.size() + row) * classes;
    double sum = 0;
    for (size_t j = 0; j < classes; j++) sum += std::exp(z[j]);
    return std::exp(z[k]) / sum;
  };
  double total = 0;
  std::vector<int32_t> path(time, 0);
  for (bool is_last = false; !is_last;) {
    if (Spelled(path, each) == each.labels[row]) {
      double product = 1;
      for (size_t t = 0; t < time; t++) product *= probability(t, static_cast<size_t>(path[t]));
      total += product;
    }
    // The next path, as a number in base K.
    size_t t = 0;
    while (t < time && ++path[t] == each.classes) path[t++] = 0;
    is_last = t == time;
  }
  return -std::log(total);
}

std::vector<CtcCase> Feasible() {
  std::vector<CtcCase> cases;
  for (const bool merge_repeated : {true, false}) {
    for (const int32_t blank : {0, 2}) {
      const int32_t a = 1, b = blank == 0 ? 2 : 0;
      // Distinct labels, repeated ones, one, none; rows with all steps and with fewer.
      cases.push_back({6, 3, {{a, b}, {a, a}, {b}, {}, {a, b, a}}, {6, 4, 1, 5, 3}, blank, merge_repeated});
      cases.push_back({5, 4, {{a, 3, 3, b}, {}}, {5, 0}, blank, merge_repeated});
    }
  }
  return cases;
}

TEST_CASE("CtcLoss is the logarithm of the sum over all paths") {
  for (const CtcCase& each : Feasible()) {
    const std::vector<double> logits = LogitsOf<double>(each);
    for (const Kernels* kernels : TestedKernels()) {
      const CtcResult<double> result = Run(each, logits, *kernels);
      double sum = 0;
      for (size_t row = 0; row < each.labels.size(); row++) {
        INFO(kernels->name << ", row " << row << ", blank " << each.blank << ", merges " << each.merge_repeated);
        CHECK(result.row_losses[row] == doctest::Approx(LossByPaths(each, logits, row)).epsilon(1e-12));
        sum += result.row_losses[row];
      }
      CHECK(result.loss == doctest::Approx(sum));
    }
  }
}

TEST_CASE("CtcLoss returns the derivative of the weighted sum of the losses") {
  for (CtcCase each : Feasible()) {
    for (size_t row = 0; row < each.labels.size(); row++) each.row_weights.push_back(0.5 * static_cast<double>(row));
    const std::vector<double> logits = LogitsOf<double>(each);
    const CtcResult<double> result = Run(each, logits);
    for (size_t k = 0; k < logits.size(); k++) {
      const auto at = [&](double shift) {
        std::vector<double> moved = logits;
        moved[k] += shift;
        return Run(each, moved).loss;
      };
      CHECK(result.gradient[k] == doctest::Approx((at(1e-4) - at(-1e-4)) / 2e-4).epsilon(1e-6));
    }
  }
}

TEST_CASE("CtcLoss in float32 agrees with float64") {
  for (const CtcCase& each : Feasible()) {
    const CtcResult<double> expected = Run(each, LogitsOf<double>(each));
    const CtcResult<float> actual = Run(each, LogitsOf<float>(each));
    CHECK(actual.loss == doctest::Approx(expected.loss).epsilon(1e-5));
    for (size_t k = 0; k < expected.gradient.size(); k++) {
      CHECK(std::abs(static_cast<double>(actual.gradient[k]) - expected.gradient[k]) < 1e-5);
    }
  }
}

// A probability of 0.1^3000 is far below the smallest float64.
TEST_CASE("CtcLoss of a long row is finite") {
  CtcCase each{3000, 10, {{1, 2, 3}}, {3000}};
  const CtcResult<float> result = Run(each, std::vector<float>(30000, 1.0f));
  CHECK(std::isfinite(result.loss));
  // Every path has the probability 10^-3000, and fewer than 3000^6 spell the labels.
  CHECK(result.loss < 3000 * std::log(10.0));
  CHECK(result.loss > 3000 * std::log(10.0) - 6 * std::log(3000.0));
}

TEST_CASE("CtcLoss treats rows without an alignment as the problem states") {
  // Two equal labels need a blank between them: three steps.
  CtcCase each{2, 3, {{1, 1}, {1, 2}}, {2, 2}};
  const std::vector<double> logits = LogitsOf<double>(each);
  const auto of_row = [](const CtcResult<double>& result, size_t row) {
    std::vector<double> values;
    for (size_t t = 0; t < 2; t++) {
      for (size_t k = 0; k < 3; k++) values.push_back(result.gradient[(t * 2 + row) * 3 + k]);
    }
    return values;
  };
  const CtcResult<double> infinite = Run(each, logits);
  CHECK(infinite.row_losses[0] == kInfinity);
  CHECK(infinite.loss == kInfinity);
  // The softmax, whose three values have the sum 1.
  const std::vector<double> softmax = of_row(infinite, 0);
  CHECK(softmax[0] + softmax[1] + softmax[2] == doctest::Approx(1));
  CHECK(*std::min_element(softmax.begin(), softmax.end()) > 0);

  each.infeasible = InfeasibleRows::kNan;
  const CtcResult<double> nan = Run(each, logits);
  CHECK(nan.row_losses[0] == kInfinity);
  for (const double value : of_row(nan, 0)) CHECK(std::isnan(value));

  each.infeasible = InfeasibleRows::kZero;
  const CtcResult<double> zero = Run(each, logits);
  CHECK(zero.row_losses[0] == 0);
  CHECK(of_row(zero, 0) == std::vector<double>(6, 0.0));
  CHECK(zero.loss == zero.row_losses[1]);
  // The other row is the same in all three.
  CHECK(of_row(zero, 1) == of_row(infinite, 1));
  CHECK(of_row(zero, 1) == of_row(nan, 1));

  // If repeated labels are not merged, two steps are enough.
  each.merge_repeated = false;
  CHECK(std::isfinite(Run(each, logits).row_losses[0]));
}

TEST_CASE("CtcLoss has zeros past a row's steps and in rows of weight 0, for any logits") {
  CtcCase each{4, 3, {{1}, {2}}, {2, 4}};
  each.row_weights = {1, 0};
  std::vector<double> logits = LogitsOf<double>(each);
  const CtcResult<double> expected = Run(each, logits);
  for (size_t t = 0; t < 4; t++) {
    for (size_t row = 0; row < 2; row++) {
      if (row == 0 && t < 2) continue;
      for (size_t k = 0; k < 3; k++) {
        const size_t at = (t * 2 + row) * 3 + k;
        CHECK(expected.gradient[at] == 0);
        logits[at] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  const CtcResult<double> actual = Run(each, logits);
  CHECK(actual.loss == expected.loss);
  CHECK(actual.gradient == expected.gradient);
}

TEST_CASE("CtcLoss of a NaN is NaN in its row alone") {
  const CtcCase each{4, 20, {{1, 5}, {2}}, {4, 4}};
  for (const Kernels* kernels : TestedKernels()) {
    // In the part of the classes that vectors read, and after it.
    for (const size_t k : {3, 19}) {
      std::vector<float> logits = LogitsOf<float>(each);
      const CtcResult<float> clean = Run(each, logits, *kernels);
      logits[2 * 2 * 20 + k] = std::numeric_limits<float>::quiet_NaN();
      const CtcResult<float> result = Run(each, logits, *kernels);
      CHECK(std::isnan(result.loss));
      CHECK(std::isnan(result.row_losses[0]));
      CHECK(result.row_losses[1] == clean.row_losses[1]);
      for (size_t at = 0; at < logits.size(); at++) {
        REQUIRE((at / 20 % 2 == 0 ? std::isnan(result.gradient[at]) : result.gradient[at] == clean.gradient[at]));
      }
    }
  }
}

TEST_CASE("CtcLoss gives the same bits on any number of threads") {
  const CtcCase each{40, 30, {{1, 2, 2, 9}, {4}, {}, {29, 28, 27, 26, 25}, {3, 3}}, {40, 12, 33, 40, 5}};
  const std::vector<float> logits = LogitsOf<float>(each);
  for (const Kernels* kernels : TestedKernels()) {
    const CtcResult<float> one = Run(each, logits, *kernels, 1);
    const CtcResult<float> three = Run(each, logits, *kernels, 3);
    CHECK(three.loss == one.loss);
    CHECK(three.gradient == one.gradient);
  }
}

}  // namespace
}  // namespace cudnn_rnn
