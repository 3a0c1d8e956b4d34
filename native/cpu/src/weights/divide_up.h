#pragma once

#include <cstddef>

namespace cudnn_rnn {

// a / b rounded up, for a >= 0 and b > 0.
constexpr ptrdiff_t DivideUp(ptrdiff_t a, ptrdiff_t b) { return (a + b - 1) / b; }

}  // namespace cudnn_rnn
