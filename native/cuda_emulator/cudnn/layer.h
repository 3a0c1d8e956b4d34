#pragma once

#include <cstddef>
#include <vector>

#include "cudnn/rnn_pass.h"

namespace emulator {

/// The weights of one pseudo-layer, widened: W [G·H, in] (empty when skipped), R [G·H, P], projection [P, H] (empty
/// without one), biases [G·H] (zero if the network has none).
struct LayerWeights {
  LayerWeights(const RnnShape& shape, std::size_t pseudo, const void* space);

  std::vector<double> input, recurrent, projection, input_bias, recurrent_bias;
};

/// One array in the compact order of Sequences: rows of (b, t), `width` wide.
struct Rows {
  Rows(std::size_t rows, std::size_t width) : width(width), data(rows * width) {}

  double* operator[](std::size_t row) { return data.data() + row * width; }
  const double* operator[](std::size_t row) const { return data.data() + row * width; }

  std::size_t width;
  std::vector<double> data;
};

/// A caller's buffer of vectors, into compact rows and back. Storing writes `fill` (or rubbish without one) past each
/// sequence's end.
Rows LoadVectors(const Sequences& sequences, FloatType type, const void* buffer, std::size_t width);
void StoreVectors(const Sequences& sequences, FloatType type, void* buffer, const Rows& rows, bool filled, double fill);

/// A state of all pseudo-layers [L·D, B, width]: the part of one pseudo-layer; zeros when `buffer` is null.
Rows LoadState(const RnnPass& pass, const void* buffer, std::size_t pseudo, std::size_t width);
void StoreState(const RnnPass& pass, void* buffer, std::size_t pseudo, const Rows& state);

/// A slot of the reserve space [S, width].
Rows LoadSlot(const RnnPass& pass, const char* reserve, std::size_t offset, std::size_t width);
void StoreSlot(const RnnPass& pass, char* reserve, std::size_t offset, const Rows& rows);

/// Which elements of the output of the layer below get into `pseudo`, a pseudo-layer of layer 1 or above: multiplies
/// by 0 or 1/(1 - rate). `mask` is the reserve space's.
void ApplyMask(const RnnPass& pass, const unsigned char* mask, std::size_t pseudo, Rows& rows);
void DrawMask(const RnnPass& pass, const DropoutStates& states, unsigned char* mask);

/// Batch entries that take part in step s, and the time at which they do: direction 1 runs backwards from each
/// sequence's own last step.
class Step {
 public:
  Step(const Sequences& sequences, bool backward, std::size_t s);
  std::size_t Count() const { return batch.size(); }

  std::vector<std::size_t> batch;
  std::vector<std::size_t> row;       ///< compact row of each
  std::vector<std::size_t> previous;  ///< compact row of the step before, for s > 0
};

/// The rows of `state`, one per batch entry, that take part in a step: [n, width].
Rows Gathered(const Rows& state, const Step& step);

/// h before each step, in compact rows: the previous step's, or hx.
Rows PreviousHidden(const RnnPass& pass, bool backward, const Rows& hidden, const Rows& initial);

}  // namespace emulator
