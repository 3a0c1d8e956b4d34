#pragma once

#include "passes/rnn_pass.h"
#include "threads/engine.h"

namespace cudnn_rnn {

// Runs all layers over all steps. In training it allocates the memory of `pass.tape` and fills it. Throws
// std::bad_alloc.
template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass);

}  // namespace cudnn_rnn
