#include "kernels/vector_wasm.h"
// The vectors come first: the kernels are written over them.
#include "kernels/kernel_tables.h"

#include "kernels/int8_dots_wasm.h"
#include "kernels/int8_pair_dots.h"

namespace cudnn_rnn {

#if defined(__wasm_relaxed_simd__)
constexpr double kOperationsPerNs = 30;
#else
constexpr double kOperationsPerNs = 20;
#endif

const KernelTable<float> kWasmFloat32Kernels =
    TableOf<VectorF32>(kOperationsPerNs, Int8PairDots<VectorF32, Int8DotsWasm>::Product);
const KernelTable<double> kWasmFloat64Kernels = TableOf<VectorF64>(kOperationsPerNs);
const CtcKernels kWasmCtcKernels = CtcKernelsOf<VectorF64>();

}  // namespace cudnn_rnn
