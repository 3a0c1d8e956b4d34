#include "passes/rnn_forward_schedule.h"

#include <algorithm>

#include "passes/wavefront.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {
namespace {

// Pre-activations computed ahead of the recurrence in inference: they stay in the cache until the recurrence reads
// them.
constexpr ptrdiff_t kAheadBytes = 1 << 20;
// Shared cache bytes of the third-level cache of a processor, what one process can count on.
constexpr ptrdiff_t kSharedCacheBytes = ptrdiff_t{16} << 20;
// Rows of a time block of such a network.
constexpr ptrdiff_t kManyRows = 512;
// Items of the input product that keep all threads busy.
constexpr ptrdiff_t kManyItems = 16;

}  // namespace

template <typename T>
ForwardSchedule::ForwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch, bool is_training)
    : time_(time), layers_(network.options().layers), directions_(network.options().directions) {
  const ptrdiff_t weights = network.gates() * network.options().units * network.columns();
  const ptrdiff_t largest_input = std::max(network.options().input_size, network.output_size());
  pseudo_layer_operations_ = StepOperations(network, batch);
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
  // Fewer panels than would keep all threads busy: smaller blocks. A wavefront's are small anyway.
  if (!is_wavefront_ && input_blocks_ * network.panels() * directions_ < kManyItems)
    input_blocks_ = std::min(rows, DivideUp(kManyItems, network.panels() * directions_));
}

void ForwardSchedule::TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const {
  time_blocks->clear();
  if (!is_wavefront_) return AddTimeBlocks(stage / time_blocks_, stage % time_blocks_, time_blocks);
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
