#include "passes/rnn_backward_schedule.h"

#include <algorithm>

#include "passes/wavefront.h"
#include "weights/divide_up.h"
#include "weights/transposed_matrix.h"

namespace cudnn_rnn {
namespace {

// Batches large enough for a copy of the transposed matrix gained nothing: of LSTM and GRU 2 x 32 to 2 x 256 on two
// threads, a wavefront took 0.92 of the time at B 1 and 1.02 at B 8.
template <typename T>
bool IsBackwardWavefront(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch) {
  return IsWavefront(network, batch) && !TransposedMatrix<T>::IsWorthPacking(time, batch);
}

}  // namespace

template <typename T>
BackwardSchedule::BackwardSchedule(const Network<T>& network, ptrdiff_t time, ptrdiff_t batch)
    : time_(time),
      layers_(network.options().layers),
      directions_(network.options().directions),
      is_wavefront_(IsBackwardWavefront(network, time, batch)),
      steps_(is_wavefront_ ? std::min(time, WavefrontSteps(batch)) : time),
      time_blocks_(DivideUp(time, steps_)) {}

void BackwardSchedule::TimeBlocksOf(ptrdiff_t stage, std::vector<TimeBlock>* time_blocks) const {
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

template BackwardSchedule::BackwardSchedule(const Network<float>&, ptrdiff_t, ptrdiff_t);
template BackwardSchedule::BackwardSchedule(const Network<double>&, ptrdiff_t, ptrdiff_t);

}  // namespace cudnn_rnn
