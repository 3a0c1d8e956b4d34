// Losses of single elements: squared error, absolute error, sigmoid cross-entropy.
#pragma once

#include <algorithm>
#include <cmath>

#include "dense/activation.h"
#include "dense/dense_ops.h"
#include "dense/layer_ops.h"

namespace cudnn_rnn {

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
void ElementLossOf(const Engine<T>& engine, const LayerOperands<T>& on) {
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
