#include "passes/rnn_forward_schedule.h"

#include <algorithm>

namespace cudnn_rnn {
namespace {

// Pre-activations computed ahead of the recurrence in inference: they stay in the cache until the recurrence reads
// them.
constexpr ptrdiff_t kAheadBytes = 1 << 20;
// Layers of a network run side by side, each a few steps behind the one below, where threads would meet too often if
// they shared every step: as long as a step is brief and a layer's weights stay in the cache of one core.
constexpr double kWavefrontOperations = 4e6;
constexpr ptrdiff_t kWavefrontWeights = 1 << 18;
// Rows of the input product, and at least so many steps, that a layer is ahead of the next one.
constexpr ptrdiff_t kWavefrontRows = 12;
constexpr ptrdiff_t kWavefrontSteps = 4;
// Items of the input product that keep all threads busy.
constexpr ptrdiff_t kManyItems = 16;

ptrdiff_t DivideUp(ptrdiff_t a, ptrdiff_t b) { return (a + b - 1) / b; }

}  // namespace

template <typename T>
ForwardSchedule::ForwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch, bool is_training)
    : time_(time), layers_(network.options().layers), directions_(network.options().directions) {
  const ptrdiff_t weights = network.gates() * network.options().units * network.columns();
  pseudo_layer_operations_ = 2.0 * batch * network.gates() * network.options().units * network.columns();
  is_wavefrontfront_ = directions_ == 1 && layers_ > 1 && pseudo_layer_operations_ <= kWavefrontOperations &&
                       weights <= kWavefrontWeights;

  if (is_wavefrontfront_) {
    steps_ = std::max(kWavefrontSteps, DivideUp(kWavefrontRows, batch));
  } else if (is_training) {
    steps_ = time;
  } else {
    const ptrdiff_t step_bytes = network.panels() * network.z_width() * static_cast<ptrdiff_t>(sizeof(T)) * batch;
    // Few rows make a poor product; many steps of them are worth the memory.
    steps_ = std::max(kAheadBytes / step_bytes, DivideUp(kRowBlock, batch));
  }
  steps_ = std::min(steps_, time);
  time_blocks_ = DivideUp(time, steps_);

  const ptrdiff_t rows = steps_ * batch;
  input_blocks_ = DivideUp(rows, kRowBlock);
  // Fewer panels than would keep all threads busy: smaller blocks. A wave's are small as they are.
  if (!is_wavefrontfront_ && input_blocks_ * network.panels() * directions_ < kManyItems)
    input_blocks_ = std::min(rows, kManyItems);
}

void ForwardSchedule::TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const {
  time_blocks->clear();
  if (!is_wavefrontfront_) return AddTimeBlocks(stage / time_blocks_, stage % time_blocks_, time_blocks);
  for (ptrdiff_t layer = 0; layer < layers_; layer++) {
    if (stage >= layer && stage - layer < time_blocks_) AddTimeBlocks(layer, stage - layer, time_blocks);
  }
}

void ForwardSchedule::AddTimeBlocks(ptrdiff_t layer, ptrdiff_t index, std::vector<TimeBlock>* time_blocks) const {
  for (int d = 0; d < directions_; d++) {
    time_blocks->push_back(
        {static_cast<int>(layer) * directions_ + d, index * steps_, std::min(time_, (index + 1) * steps_)});
  }
}

template ForwardSchedule::ForwardSchedule(const Network<float>&, ptrdiff_t, ptrdiff_t, bool);
template ForwardSchedule::ForwardSchedule(const Network<double>&, ptrdiff_t, ptrdiff_t, bool);

}  // namespace cudnn_rnn
