#pragma once

#include "passes/rnn_pass.h"
#include "threads/engine.h"

namespace cudnn_rnn {

// Back-propagation through time over all layers (Werbos 1990, https://doi.org/10.1109/5.58337). Writes every gradient
// of `pass` and leaves the tape's pre-activations overwritten: a tape serves one backward. Throws std::bad_alloc.
template <typename T>
void RunBackward(const Engine<T>& engine, const BackwardPass<T>& pass);

}  // namespace cudnn_rnn
