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

#include <algorithm>
#include <cstddef>
#include <vector>

#include "passes/time_order.h"
#include "passes/wavefront.h"
#include "threads/engine.h"
#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

class ForwardSchedule {
 public:
  // Rows of the input product that share a panel of weights while it is in the cache.
  static constexpr ptrdiff_t kRowBlock = 96;

  template <typename T>
  ForwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch, bool is_training)
      : time_(time), batch_(batch), layers_(network.options().layers), directions_(network.options().directions) {
    const ptrdiff_t weights = network.gates() * network.options().units * network.columns();
    const ptrdiff_t largest_input = std::max(network.options().input_size, network.output_size());
    is_wavefront_ = IsWavefront(network, batch);

    if (is_wavefront_) {
      steps_ = WavefrontSteps(batch);
    } else if (is_training) {
      steps_ = time;
    } else {
      // Few rows make a poor product; many steps of them are worth the memory.
      ptrdiff_t rows_at_once = kRowBlock;
      const ptrdiff_t matrix_bytes =
          (weights + largest_input * network.gates() * network.options().units) * static_cast<ptrdiff_t>(sizeof(T));
      // Every time block reads both matrices. If they do not fit the shared cache side by side, each evicts the other:
      // with longer blocks that happens less often. LSTM 64 x 50 x 1024: 8 steps instead of 2 save a tenth of the pass.
      if (matrix_bytes > kSharedCacheBytes) rows_at_once = kManyRows;
      const ptrdiff_t step_bytes = network.panels() * network.z_width() * static_cast<ptrdiff_t>(sizeof(T)) * batch;
      steps_ = std::max(kAheadBytes / step_bytes, DivideUp(rows_at_once, batch));
    }
    steps_ = std::min(steps_, time);
    time_blocks_ = DivideUp(time, steps_);

    const ptrdiff_t rows = steps_ * batch;
    input_blocks_ = DivideUp(rows, kRowBlock);
    // Fewer panels than would keep all threads busy: smaller blocks, but of rows enough for each weight that is read.
    // A wavefront's are small anyway.
    if (!is_wavefront_ && input_blocks_ * network.panels() * directions_ < kManyItems) {
      input_blocks_ =
          std::min(std::max<ptrdiff_t>(1, rows / kFewestRows), DivideUp(kManyItems, network.panels() * directions_));
    }
  }

  // Whether layers run side by side instead of one after another.
  bool is_wavefront() const { return is_wavefront_; }
  // Lanes of a stage, at most.
  int side_by_side() const { return is_wavefront_ ? layers_ : directions_; }
  // Multiplications and additions of the pass, at the rate of a single row. The first step from a state of zeros has no
  // product by R.
  template <typename T>
  double Operations(const Network<T>& network, bool starts_at_zero) const {
    double depth = 0;
    for (int p = 0; p < network.pseudo_layers(); p++) {
      depth += static_cast<double>(time_ * network.layer(p).input.depth);
      depth += static_cast<double>((time_ - (starts_at_zero ? 1 : 0)) * network.columns());
    }
    return SingleRowOperations(batch_, depth * static_cast<double>(batch_ * network.gates() * network.options().units));
  }
  // Loops of the pass, at whose ends its threads wait for each other: two and one for each step in every stage. To
  // begin and to end it together takes as long as three more (Emerald Rapids: 0.47 µs, a loop 0.17 µs).
  double loops() const { return static_cast<double>(stages() * (steps() + 2) + 3); }
  // Steps of a time block; the last one of a pseudo-layer may have fewer.
  ptrdiff_t steps() const { return steps_; }
  // Blocks of rows in which the input product of a time block is computed, panel by panel.
  ptrdiff_t input_blocks() const { return input_blocks_; }

  ptrdiff_t stages() const { return is_wavefront_ ? time_blocks_ + layers_ - 1 : time_blocks_ * layers_; }
  void TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const {
    time_blocks->clear();
    if (!is_wavefront_) return AddTimeBlocks(stage / time_blocks_, stage % time_blocks_, time_blocks);
    for (ptrdiff_t layer = 0; layer < layers_; layer++) {
      if (stage >= layer && stage - layer < time_blocks_) AddTimeBlocks(layer, stage - layer, time_blocks);
    }
  }

 private:
  // Pre-activations computed ahead of the recurrence in inference: they stay in the cache until the recurrence reads
  // them.
  static constexpr ptrdiff_t kAheadBytes = 1 << 20;
  // Shared cache bytes of the third-level cache of a processor, what one process can count on.
  static constexpr ptrdiff_t kSharedCacheBytes = ptrdiff_t{16} << 20;
  // Rows of a time block of such a network.
  static constexpr ptrdiff_t kManyRows = 512;
  // Items of the input product that keep all threads busy.
  static constexpr ptrdiff_t kManyItems = 16;
  // Rows of a block of it, unless there are fewer: their multiply-adds take as long as reading the weights does.
  static constexpr ptrdiff_t kFewestRows = 4;

  void AddTimeBlocks(ptrdiff_t layer, ptrdiff_t index, std::vector<TimeBlock>* time_blocks) const {
    for (int d = 0; d < directions_; d++) {
      time_blocks->push_back(
          {static_cast<int>(layer) * directions_ + d, index * steps_, std::min(time_, (index + 1) * steps_)});
    }
  }

  const ptrdiff_t time_;
  const ptrdiff_t batch_;
  const int layers_;
  const int directions_;
  bool is_wavefront_;
  ptrdiff_t steps_;
  ptrdiff_t time_blocks_;  // of a pseudo-layer
  ptrdiff_t input_blocks_;
};

}  // namespace cudnn_rnn
