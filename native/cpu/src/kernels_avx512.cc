#include "vector_avx512.h"
// The vectors come first: the kernels are written over them.
#include "kernel_tables.h"

namespace cudnn_rnn {

const Kernels kAvx512Kernels = {"AVX-512", TableOf<VectorF32>(), TableOf<VectorF64>()};

}  // namespace cudnn_rnn
