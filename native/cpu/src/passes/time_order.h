// In which order a pseudo-layer walks through the time steps of a row: step n is time n in the forward direction and
// length - 1 - n in the backward direction, so that every row's first step is step 0 in both.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudnn_rnn {

struct TimeOrder {
  ptrdiff_t time;
  const int32_t* lengths;  // [B] or null for T everywhere
  int direction;

  ptrdiff_t Length(ptrdiff_t row) const { return lengths == nullptr ? time : lengths[row]; }
  // The time of step n; steps from the length on have none.
  ptrdiff_t TimeOf(ptrdiff_t n, ptrdiff_t row) const { return direction == 0 ? n : Length(row) - 1 - n; }
};

// The steps [begin, end) of one pseudo-layer, in time order.
struct TimeBlock {
  int pseudo_layer;
  ptrdiff_t begin;
  ptrdiff_t end;
};

}  // namespace cudnn_rnn
