#include "kernels/vector_avx2.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

namespace cudnn_rnn {

const Kernels kAvx2Kernels = {"avx2", TableOf<VectorF32>(50), TableOf<VectorF64>(50), CtcKernelsOf<VectorF64>()};

}  // namespace cudnn_rnn
