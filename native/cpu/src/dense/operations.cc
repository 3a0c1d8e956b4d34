#include "dense/operations.h"

#include <iterator>

#include "dense/activation.h"
#include "dense/attention.h"
#include "dense/layer_dropout.h"
#include "dense/layer_norm.h"
#include "dense/linear.h"
#include "dense/losses.h"
#include "dense/optimizer_updates.h"
#include "dense/sequence_ops.h"

namespace cudnn_rnn {

// In WebAssembly rows are copied in JavaScript, which has them: the modules are as large as their code.
#if defined(__wasm__)
constexpr bool kEmbeds = false;
#else
constexpr bool kEmbeds = true;
#endif

// The one entry point, so that the binding needs no function for each operation.
template <typename T>
void RunOperation(const Engine<T>& engine, Operation operation, const OperationOperands<T>& on) {
  // In the order of Operation.
  static constexpr void (*kFunctions[])(const Engine<T>&, const OperationOperands<T>&) = {
      Linear,
      kEmbeds ? Embedding<T> : nullptr,
      Activate,
      ActivationGradient,
      LayerDropout,
      LayerNorm,
      LayerNormGradients,
      MaskSequence<false>,
      MaskSequence<true>,
      PoolSequence,
      PoolSequenceGradient,
      Attend,
      AttendGradients,
      ElementLossOf,
      LinearGradients,
      kEmbeds ? EmbeddingGradient<T> : nullptr,
      SoftmaxCrossEntropy,
  };
  static_assert(std::size(kFunctions) == static_cast<size_t>(Operation::kAssign), "all but the updates");
  if (operation < Operation::kAssign) return kFunctions[static_cast<size_t>(operation)](engine, on);
  ForEach(engine, on.count, kElementwisePart,
          [&](ptrdiff_t begin, ptrdiff_t end) { ApplyUpdate(operation, on, begin, end); });
}

template void RunOperation(const Engine<float>&, Operation, const OperationOperands<float>&);
template void RunOperation(const Engine<double>&, Operation, const OperationOperands<double>&);

}  // namespace cudnn_rnn
