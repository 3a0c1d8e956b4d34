#include "vector_neon.h"
// The vectors come first: the kernels are written over them.
#include "kernel_tables.h"

namespace cudnn_rnn {

const Kernels kNeonKernels = {"neon", 2e6, TableOf<VectorF32>(), TableOf<VectorF64>()};

}  // namespace cudnn_rnn
