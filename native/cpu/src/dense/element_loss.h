// Losses of single elements: squared error, absolute error, sigmoid cross-entropy.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// elementLoss: loss, gradient, predictions, targets, weights or null; loss, rows, columns
// Weighted mean of a loss over [N,E], and its gradient with respect to the predictions.
template <typename T>
void ElementLossOf(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
