#pragma once

#include <cstddef>

namespace cudnn_rnn {

// The steps [begin, end) of one pseudo-layer, in time order (time_order.h).
struct TimeBlock {
  int pseudo_layer;
  ptrdiff_t begin;
  ptrdiff_t end;
};

}  // namespace cudnn_rnn
