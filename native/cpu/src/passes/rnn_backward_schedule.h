// Which steps of which pseudo-layers a backward pass computes together.
//
// A pass is a sequence of stages: all steps of a layer in both directions, from the last layer to the first, or, in a
// wavefront (wavefront.h), one time block of every layer, each one block behind the layer above. After a stage the
// gradients of the inputs of its blocks are computed, each as one product: they are the next stage's gradients of
// outputs.
//
// Nothing here depends on the number of threads: the last bits of a result depend on how many rows are summed side by
// side, so they would depend on it too.
#pragma once

#include <cstddef>
#include <vector>

#include "passes/time_block.h"
#include "weights/network.h"

namespace cudnn_rnn {

class BackwardSchedule {
 public:
  template <typename T>
  BackwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch);

  // Whether layers run side by side instead of one after another.
  bool is_wavefront() const { return is_wavefront_; }
  // Pseudo-layers of a stage, at most. Pseudo-layer p has lane p % lanes().
  int lanes() const { return is_wavefront_ ? layers_ : directions_; }
  // Steps of a time block; the first one of a pseudo-layer may have fewer.
  ptrdiff_t steps() const { return steps_; }
  ptrdiff_t time_blocks() const { return time_blocks_; }

  ptrdiff_t stages() const { return is_wavefront_ ? time_blocks_ + layers_ - 1 : layers_; }
  // Blocks of the same layer come from the last steps to the first.
  void TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const;

 private:
  const ptrdiff_t time_;
  const int layers_;
  const int directions_;
  const bool is_wavefront_;
  const ptrdiff_t steps_;
  const ptrdiff_t time_blocks_;  // of a pseudo-layer
};

}  // namespace cudnn_rnn
