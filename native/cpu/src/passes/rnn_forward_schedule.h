// Which steps of which pseudo-layers a forward pass computes together.
//
// z = x·Wᵀ + h·Rᵀ + b. Only the product h·Rᵀ waits for the step before. x·Wᵀ is computed for a time block at
// once: a product of many rows reads W once for all of them and runs at the multiply-add peak, where T products of B
// rows would read W T times. Appleyard, Kočiský and Blunsom 2016, "Optimizing Performance of Recurrent Neural Networks
// on GPUs", 3.1.
//
// A pass is a sequence of stages. A stage is one time block of several pseudo-layers side by side: of both directions
// of a layer, or, in a wavefront (wavefront.h), of every layer, each one time block behind the layer below.
//
// Nothing here depends on the number of threads: the last bits of a result depend on how many rows are summed side by
// side, so they would depend on it too.
#pragma once

#include <cstddef>
#include <vector>

#include "passes/time_block.h"
#include "weights/network.h"

namespace cudnn_rnn {

class ForwardSchedule {
 public:
  // Rows of the input product that share a panel of weights while it is in the cache.
  static constexpr ptrdiff_t kRowBlock = 96;

  template <typename T>
  ForwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch, bool is_training);

  // Whether layers run side by side instead of one after another.
  bool is_wavefront() const { return is_wavefront_; }
  // Lanes of a stage, at most.
  int side_by_side() const { return is_wavefront_ ? layers_ : directions_; }
  // Multiplications and additions of a step of all of these.
  double operations() const { return pseudo_layer_operations_ * side_by_side(); }
  // Steps of a time block; the last one of a pseudo-layer may have fewer.
  ptrdiff_t steps() const { return steps_; }
  // Blocks of rows in which the input product of a time block is computed, panel by panel.
  ptrdiff_t input_blocks() const { return input_blocks_; }

  ptrdiff_t stages() const { return is_wavefront_ ? time_blocks_ + layers_ - 1 : time_blocks_ * layers_; }
  void TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const;

 private:
  void AddTimeBlocks(ptrdiff_t layer, ptrdiff_t index, std::vector<TimeBlock>* time_blocks) const;

  const ptrdiff_t time_;
  const int layers_;
  const int directions_;
  double pseudo_layer_operations_;
  bool is_wavefront_;
  ptrdiff_t steps_;
  ptrdiff_t time_blocks_;  // of a pseudo-layer
  ptrdiff_t input_blocks_;
};

}  // namespace cudnn_rnn
