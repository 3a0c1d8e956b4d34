// Activations of layers: tanh, sigmoid, relu, elu, softplus, softmax.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// activate: y, x; activation, rows, columns, maximum
// y [N,E] = φ(x), elementwise, or softmax over each row.
template <typename T>
void Activate(const Engine<T>& engine, const LayerOperands<T>& on);

// activationGradient: dx, y, dy; activation, rows, columns, maximum
// dx [N,E] = dy ⊙ φ'(x) from y = φ(x): the forward's x need not be kept.
template <typename T>
void ActivationGradient(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
