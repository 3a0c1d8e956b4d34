#pragma once

#include "binding/job.h"
#include "napi_setup.h"

namespace cudnn_rnn {

// Each reads the arguments of one operation of NativeExecutor (packages/cpu/src/native_addon.ts). They throw RangeError
// ERR_TENSOR_TRANSFERRED for an array of another length than the network and the sizes require, TypeError ERR_DTYPE for
// one of another element type.

// forward({ network, time, batch, input, h, c, params, quantized, lengths, dropoutPosition, output, hFinal, cFinal,
//           tape })
//
// tape: a fresh NativeTape in training, else null. quantized: NativeQuantizedWeights that the matrices are read from,
// or null.
Job ForwardJob(const JobContext& context, const Napi::Object& arguments);

// backward({ network, input, params, tape, dOutput, dhFinal, dcFinal, dInput, dh, dc, dParams })
Job BackwardJob(const JobContext& context, const Napi::Object& arguments);

// quantize({ network, params, quantized: NativeQuantizedWeights, int8: boolean }); float32 only
Job QuantizeJob(const JobContext& context, const Napi::Object& arguments);

}  // namespace cudnn_rnn
