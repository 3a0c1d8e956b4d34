#include "vector_portable.h"
// The vectors come first: the kernels are written over them.
#include "kernel_tables.h"

namespace cudnn_rnn {

const Kernels kPortableKernels = {"portable", 0.5e6, TableOf<VectorF32>(), TableOf<VectorF64>()};

}  // namespace cudnn_rnn
