#include <cmath>

#include "kernels/kernels.h"

namespace cudnn_rnn {

// In a separate file, compiled for the baseline instruction set: an inline function of <cmath> in a kernel file could
// be compiled with AVX-512 and be kept by the linker for all.
double InverseRoot(double x) { return 1 / std::sqrt(x); }

}  // namespace cudnn_rnn
