// Losses, each with its gradient: softmax cross-entropy, and losses of single elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/activation.h"
#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "dense/softmax_line.h"

namespace cudnn_rnn {

// The sum of row_loss(row, weight) over the rows, whose weights are divided by their sum as tf.losses does with
// SUM_BY_NONZERO_WEIGHTS, and are equal for null. In the order of the rows: the same for any number of threads. A
// weight of 0 must keep the contents of its row, NaN included, out of the results.
template <typename T, typename RowLoss>
T WeightedLoss(const Engine<T>& engine, const T* weights, ptrdiff_t rows, ptrdiff_t columns, const RowLoss& row_loss) {
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (ptrdiff_t row = 0; weights != nullptr && row < rows; row++) total += weights[row];
  std::vector<double> losses(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t row = begin; row < end; row++) {
      losses[row] = row_loss(row, total == 0 ? 0 : (weights == nullptr ? 1 : weights[row]) / total);
    }
  });
  double sum = 0;
  for (const double each : losses) sum += each;
  return static_cast<T>(sum);
}

// softmaxCrossEntropy: loss, gradient, logits, weights or null, labels; rows, classes
// loss = Σ w·(log Σ e^(z - m) - (z_label - m)) / Σ w, with m = max z, so that no exponential overflows; its gradient is
// (softmax(z) - onehot(label))·w / Σ w. https://en.wikipedia.org/wiki/LogSumExp
template <typename T>
void SoftmaxCrossEntropy(const Engine<T>& engine, const OperationOperands<T>& on) {
  const ptrdiff_t rows = on.size(0), classes = on.size(1);
  *on.data[0] = WeightedLoss(engine, on.data[3], rows, classes, [&](ptrdiff_t row, double weight) {
    const T* z = on.data[2] + row * classes;
    T* g = on.data[1] + row * classes;
    // Logits of a padded step may hold any value, NaN included.
    if (weight == 0) {
      std::fill_n(g, classes, T{0});
      return 0.0;
    }
    // A NaN anywhere makes the whole row, and the loss, NaN instead of silently wrong.
    const T maximum = LargestOf(z, 1, classes);
    const double sum = ExpOfRow(engine, z, maximum, g, classes);
    const ptrdiff_t label = on.integers[row];
    const T scale = static_cast<T>(weight / sum);
    for (ptrdiff_t k = 0; k < classes; k++) g[k] *= scale;
    g[label] -= static_cast<T>(weight);
    return weight * (std::log(sum) - (static_cast<double>(z[label]) - maximum));
  });
}

// The order of ELEMENT_LOSSES.
enum class ElementLoss { kSquaredError, kAbsoluteError, kSigmoidCrossEntropy };

// The loss of one element; its derivative with respect to the prediction in *slope.
template <typename T>
double LossOf(ElementLoss loss, T prediction, T target, double* slope) {
  const double p = prediction, y = target;
  switch (loss) {
    case ElementLoss::kSquaredError:
      *slope = 2 * (p - y);
      return (p - y) * (p - y);
    case ElementLoss::kAbsoluteError:
      // At p = y the subgradient 0; p - y instead of 0 keeps a NaN.
      *slope = p > y ? 1 : p < y ? -1 : p - y;
      return std::abs(p - y);
    case ElementLoss::kSigmoidCrossEntropy:
      *slope = SigmoidOf(p) - y;
      // -y·ln σ(p) - (1 - y)·ln(1 - σ(p)), rearranged so that no exponential overflows:
      // https://www.tensorflow.org/api_docs/python/tf/nn/sigmoid_cross_entropy_with_logits
      return std::max(p, 0.0) - p * y + std::log1p(std::exp(-std::abs(p)));
  }
  return 0;
}

// elementLoss: loss, gradient, predictions, targets, weights or null; loss, rows, columns
// Weighted mean of a loss over [N,E], and its gradient with respect to the predictions.
template <typename T>
void ElementLossOf(const Engine<T>& engine, const OperationOperands<T>& on) {
  T *loss = on.data[0], *gradient = on.data[1];
  const T *predictions = on.data[2], *targets = on.data[3], *weights = on.data[4];
  const auto rule = static_cast<ElementLoss>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  *loss = WeightedLoss(engine, weights, rows, columns, [&](ptrdiff_t row, double of_row) {
    const double weight = of_row / static_cast<double>(columns);
    double sum = 0;
    for (ptrdiff_t k = row * columns; k < (row + 1) * columns; k++) {
      // Masked-out elements may hold any value, NaN included.
      double slope = 0;
      if (weight != 0) sum += weight * LossOf(rule, predictions[k], targets[k], &slope);
      gradient[k] = static_cast<T>(weight * slope);
    }
    return sum;
  });
}

}  // namespace cudnn_rnn
