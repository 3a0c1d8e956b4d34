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

#include <algorithm>
#include <cstddef>
#include <vector>

#include "passes/time_order.h"
#include "passes/wavefront.h"
#include "weights/divide_up.h"
#include "weights/network.h"
#include "weights/transposed_matrix.h"

namespace cudnn_rnn {

class BackwardSchedule {
 public:
  template <typename T>
  BackwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch)
      : time_(time),
        layers_(network.options().layers),
        directions_(network.options().directions),
        // Batches large enough for a copy of the transposed matrix gained nothing: of LSTM and GRU 2 x 32 to 2 x 256 on
        // two threads, a wavefront took 0.92 of the time at B 1 and 1.02 at B 8.
        is_wavefront_(IsWavefront(network, batch) && !TransposedMatrix<T>::IsWorthPacking(time, batch)),
        steps_(is_wavefront_ ? std::min(time, WavefrontSteps(batch)) : time),
        time_blocks_(DivideUp(time, steps_)) {}

  // Whether layers run side by side instead of one after another.
  bool is_wavefront() const { return is_wavefront_; }
  // Pseudo-layers of a stage, at most. Pseudo-layer p has lane p % lanes().
  int lanes() const { return is_wavefront_ ? layers_ : directions_; }
  // Steps of a time block; the first one of a pseudo-layer may have fewer.
  ptrdiff_t steps() const { return steps_; }
  ptrdiff_t time_blocks() const { return time_blocks_; }

  ptrdiff_t stages() const { return is_wavefront_ ? time_blocks_ + layers_ - 1 : layers_; }
  // Blocks of the same layer come from the last steps to the first.
  void TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const {
    time_blocks->clear();
    if (!is_wavefront_) {
      const int layer = layers_ - 1 - static_cast<int>(stage);
      for (int d = 0; d < directions_; d++) time_blocks->push_back({layer * directions_ + d, 0, time_});
      return;
    }
    for (int layer = 0; layer < layers_; layer++) {
      // Blocks that the layer has completed.
      const ptrdiff_t done = stage - (layers_ - 1 - layer);
      if (done < 0 || done >= time_blocks_) continue;
      const ptrdiff_t end = time_ - done * steps_;
      time_blocks->push_back({layer, std::max<ptrdiff_t>(0, end - steps_), end});
    }
  }

 private:
  const ptrdiff_t time_;
  const int layers_;
  const int directions_;
  const bool is_wavefront_;
  const ptrdiff_t steps_;
  const ptrdiff_t time_blocks_;  // of a pseudo-layer
};

}  // namespace cudnn_rnn
