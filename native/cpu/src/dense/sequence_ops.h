// Operations along the time axis of sequences with lengths: reversal and pooling.
#pragma once

#include "dense/layer_ops.h"

namespace cudnn_rnn {

// maskSequence, and reverseSequence if it `reverses`: y, x; time, batch, columns
// Each its own gradient: step t and step length-1-t change places.
template <typename T>
void MaskSequence(const Engine<T>& engine, const LayerOperands<T>& on, bool reverses);

// poolSequence: y, x; time, batch, columns, pooling, reversedFrom
// Columns from reversedFrom on belong to a backward direction, whose last step is step 0.
template <typename T>
void PoolSequence(const Engine<T>& engine, const LayerOperands<T>& on);

// poolSequenceGradient: dx, x, dy; time, batch, columns, pooling, reversedFrom
// dx [T,B,E]: dy/length to every step for the mean; else dy to the chosen step, found again from x, and 0 elsewhere.
template <typename T>
void PoolSequenceGradient(const Engine<T>& engine, const LayerOperands<T>& on);

}  // namespace cudnn_rnn
