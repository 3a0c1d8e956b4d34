#pragma once

#include <cmath>

namespace cudnn_rnn {

// For large -x, e^-x is infinite and the quotient 0, the right limit: no branch is needed.
template <typename T>
T SigmoidOf(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

}  // namespace cudnn_rnn
