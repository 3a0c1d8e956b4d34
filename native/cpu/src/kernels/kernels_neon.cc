#include "kernels/vector_neon.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

namespace cudnn_rnn {

// 25 operations a nanosecond: half of the x86 rate, for 16-byte loads (TableOf).
const Kernels kNeonKernels = {"neon", TableOf<VectorF32>(25), TableOf<VectorF64>(25), CtcKernelsOf<VectorF64>()};

}  // namespace cudnn_rnn
