// Dropout of layers; passes/dropout.h is that between the layers of a recurrent network.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// dropout: y, x; count, seed low, seed high, draw low, draw high, threshold, kept
// Element k draws word k % 4 of block ⌊k/4⌋ of Philox4x32-10, with the number of the mask in the other half of the
// counter, so the backward computes the mask again instead of storing it, on any number of threads.
// An element is dropped if the upper 24 bits of its word are below `threshold`, rate·2^24. `draw` is the number of the
// mask, so every call has its own.
template <typename T>
void LayerDropout(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
