// Attention pooling: the mean of the steps of a sequence, weighted by a softmax of scores.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// attend: output, weights, x, scores; time, batch, columns
// output [B,E] = Σ_t softmax_t(scores [T,B])·x [T,B,E], over each row's own steps.
template <typename T>
void Attend(const Engine<T>& engine, const LayerOperands<T>& on);

// attendGradients: dx, dscores, x, weights, dy; time, batch, columns
// dx[t,b] = w[t,b]·dy[b], dw[t,b] = x[t,b]·dy[b], and by the gradient of softmax over time
// dscores[t,b] = w[t,b]·(dw[t,b] - Σ_s w[s,b]·dw[s,b]). Past a row's end w is 0, so dx and dscores are 0 without a test
// of the length. x may hold any value there, NaN included, and is not read.
template <typename T>
void AttendGradients(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
