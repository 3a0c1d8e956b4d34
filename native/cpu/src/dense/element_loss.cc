#include "dense/element_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/dense_ops.h"
#include "dense/sigmoid.h"

namespace cudnn_rnn {
namespace {

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

}  // namespace

template <typename T>
void ElementLossOf(const Engine<T>& engine, const LayerOperands<T>& on) {
  T *loss = on.data[0], *gradient = on.data[1];
  const T *predictions = on.data[2], *targets = on.data[3], *weights = on.data[4];
  const auto rule = static_cast<ElementLoss>(on.size(0));
  const ptrdiff_t rows = on.size(1), columns = on.size(2);
  // The mean is over the weights' sum, as tf.losses does with SUM_BY_NONZERO_WEIGHTS for weights of 0 and 1.
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (ptrdiff_t n = 0; weights != nullptr && n < rows; n++) total += weights[n];
  // A loss per row, added in order afterwards: the sum does not depend on the number of threads.
  std::vector<double> losses(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const double weight =
          total == 0 ? 0 : (weights == nullptr ? 1 : weights[n]) / total / static_cast<double>(columns);
      for (ptrdiff_t k = n * columns; k < (n + 1) * columns; k++) {
        // Masked-out elements may hold any value, NaN included.
        double slope = 0;
        if (weight != 0) losses[n] += weight * LossOf(rule, predictions[k], targets[k], &slope);
        gradient[k] = static_cast<T>(weight * slope);
      }
    }
  });
  double sum = 0;
  for (const double each : losses) sum += each;
  *loss = static_cast<T>(sum);
}

template void ElementLossOf(const Engine<float>&, const LayerOperands<float>&);
template void ElementLossOf(const Engine<double>&, const LayerOperands<double>&);

}  // namespace cudnn_rnn
