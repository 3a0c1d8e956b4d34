// Layer normalization over the last axis.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// layerNorm: y, x, gamma, beta; rows, columns, epsilon
// y = γ ⊙ (x - μ)/√(σ² + ε) + β over each row (Ba, Kiros and Hinton 2016), with the biased variance.
template <typename T>
void LayerNorm(const Engine<T>& engine, const LayerOperands<T>& on);

// layerNormGradients: dx, dgamma, dbeta, x, gamma, dy; rows, columns, epsilon
// dγ = Σ_n dy ⊙ x̂ and dβ = Σ_n dy over the rows; dx per row, below.
template <typename T>
void LayerNormGradients(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
