#pragma once

#include "binding/job.h"
#include "napi_setup.h"

namespace cudnn_rnn {

// Each reads the arguments of one operation of NativeExecutor, and throws, as those of rnn_jobs.h do.

// linear({ input, kernel, bias, rows, inputs, outputs, output })
Job LinearJob(const JobContext& context, const Napi::Object& arguments);

// linearGradients({ input, kernel, dOutput, rows, inputs, outputs, dInput, dKernel, dBias })
Job LinearGradientsJob(const JobContext& context, const Napi::Object& arguments);

// addProduct({ c, a, b, layout: Float64Array }); layout: offset, row stride and column stride of c, a and b, then the
// rows
//   and columns of c and the depth. Throws where a matrix leaves its array.
Job AddProductJob(const JobContext& context, const Napi::Object& arguments);

// embedding({ table, ids, columns, output })
Job EmbeddingJob(const JobContext& context, const Napi::Object& arguments);

// embeddingGradient({ table, ids, columns, output }): adds rows of output to those of table
Job EmbeddingGradientJob(const JobContext& context, const Napi::Object& arguments);

// softmaxCrossEntropy({ logits, labels, weights, rows, classes, loss, gradient })
Job SoftmaxCrossEntropyJob(const JobContext& context, const Napi::Object& arguments);

// ctcLoss({ logits, labels, labelLengths, logitLengths, rowWeights: Float64Array, time, batch, classes, maxLabels,
// blank,
//   mergeRepeated, infeasible: number, loss, rowLosses, gradient }); infeasible: dense/ctc_loss.h
Job CtcLossJob(const JobContext& context, const Napi::Object& arguments);

// norm({ tensors: array[], maxNorm: number, norm }): scales the tensors down to maxNorm where that is finite
Job NormJob(const JobContext& context, const Napi::Object& arguments);

// update({ rule: number, operands: array[], numbers: Float64Array }); rules: dense/optimizer_updates.h
Job UpdateJob(const JobContext& context, const Napi::Object& arguments);

// layer({ op: number, operands: array[], counts: Float64Array, lengths: Int32Array | null, numbers: Float64Array });
// counts: elements of each operand; operations: dense/layer_ops.h
Job LayerJob(const JobContext& context, const Napi::Object& arguments);

}  // namespace cudnn_rnn
