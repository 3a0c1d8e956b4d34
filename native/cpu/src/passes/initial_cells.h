// The cell state that enters a pass or a stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace cudnn_rnn {

// to = clip(from) for `count` elements: cuDNN clips c wherever it uses it, so the c that enters as well as
// every step's. A NaN stays NaN. An infinite `clip` clips nothing.
template <typename T>
void CopyInitialCells(const T* from, ptrdiff_t count, T clip, T* to) {
  std::transform(from, from + count, to, [clip](T c) { return std::clamp(c, -clip, clip); });
}

// The gradient with respect to such an element: 0 if the clip holds `c`, the clipped state.
template <typename T>
T InitialCellGradient(T c, T clip, T gradient) {
  return std::isfinite(clip) && std::abs(c) >= clip ? T{0} : gradient;
}

}  // namespace cudnn_rnn
