#pragma once

#include "binding/job.h"
#include "napi_setup.h"

namespace cudnn_rnn {

// Each reads the arguments of one operation of NativeExecutor, and throws, as those of rnn_jobs.h do. Shapes:
// passes/lstm_sequence.h.

// lstmForward({ time, batch, units, lengths, hardSigmoid, forgetBias, dropout, gamma, beta, epsilon, gates, hidden,
// cells,
//   normalizedCells, inverses, kernel, kernelBegin: number }); the recurrent rows of the kernel begin at
//   kernelBegin
Job LstmForwardJob(const JobContext& context, const Napi::Object& arguments);

// lstmBackward({ …those of lstmForward, dOutputs, dh, dc, dGamma, dBeta })
Job LstmBackwardJob(const JobContext& context, const Napi::Object& arguments);

}  // namespace cudnn_rnn
