#include <cmath>

#include "kernels/kernels.h"

namespace cudnn_rnn {

double InverseRoot(double x) { return 1 / std::sqrt(x); }

}  // namespace cudnn_rnn
