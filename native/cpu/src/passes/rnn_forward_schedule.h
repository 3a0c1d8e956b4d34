// Which steps of which lanes a forward pass computes together.
//
// A pass is a sequence of stages, and a stage one time_block of steps of several lanes side by side: both directions of
// a layer, or, of a wave, the next steps of every layer, each a time_block behind the one below. The input product of a
// time_block is computed for all its steps at once, before the first of them.
//
// Nothing here depends on the number of threads, as the last bits of a result depend on how many rows are summed side
// by side.
#pragma once

#include <cstddef>
#include <vector>

#include "weights/network.h"

namespace cudnn_rnn {

// The steps [begin, end) of a lane.
struct TimeBlock {
  int pseudo_layer;
  ptrdiff_t begin;
  ptrdiff_t end;
};

class ForwardSchedule {
 public:
  // Rows of the input product that share a panel of weights while it is in the cache.
  static constexpr ptrdiff_t kRowBlock = 96;

  template <typename T>
  ForwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch, bool is_training);

  // Whether layers run side by side instead of one after another.
  bool is_wavefront() const { return is_wavefrontfront_; }
  // Lanes of a stage, at most.
  int side_by_side() const { return is_wavefrontfront_ ? layers_ : directions_; }
  // Multiplications and additions of a step of all of these.
  double operations() const { return pseudo_layer_operations_ * side_by_side(); }
  // Steps of a time_block; the last one of a lane may have fewer.
  ptrdiff_t steps() const { return steps_; }
  // Blocks of rows in which the input product of a time_block is computed, panel by panel.
  ptrdiff_t input_blocks() const { return input_blocks_; }

  ptrdiff_t stages() const { return is_wavefrontfront_ ? time_blocks_ + layers_ - 1 : time_blocks_ * layers_; }
  void TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const;

 private:
  void AddTimeBlocks(ptrdiff_t layer, ptrdiff_t index, std::vector<TimeBlock>* time_blocks) const;

  const ptrdiff_t time_;
  const int layers_;
  const int directions_;
  double pseudo_layer_operations_;
  bool is_wavefrontfront_;
  ptrdiff_t steps_;
  ptrdiff_t time_blocks_;  // of a lane
  ptrdiff_t input_blocks_;
};

}  // namespace cudnn_rnn
