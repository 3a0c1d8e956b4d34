#include "arguments.h"
#include "binding/job.h"
#include "passes/lstm_sequence.h"

namespace cudnn_rnn {
namespace {

// Layer norms of a step, as tf.contrib.rnn.LayerNormBasicLSTMCell: of the gates i g f o, and of the new cell state.
constexpr ptrdiff_t kNorms = 5;

// Reads and checks the operands of both directions. hidden and cells have T+1 states: entry 0 is the initial one, entry
// t+1 the one after step t.
template <typename T>
LstmSequence<T> SequenceOf(const Napi::Object& arguments) {
  LstmSequence<T> sequence{};
  sequence.time = Size(arguments, "time");
  sequence.batch = Size(arguments, "batch");
  sequence.units = Size(arguments, "units");
  const ptrdiff_t rows = sequence.time * sequence.batch;
  const ptrdiff_t state_size = sequence.batch * sequence.units;
  sequence.lengths = Elements<int32_t>(arguments, "lengths", sequence.batch);
  sequence.gate_activation = Flag(arguments, "hardSigmoid") ? GateActivation::kHardSigmoid : GateActivation::kSigmoid;
  sequence.forget_bias = static_cast<T>(Number(arguments, "forgetBias"));
  sequence.dropout = Elements<T>(arguments, "dropout", rows * sequence.units);
  sequence.z = Required<T>(arguments, "gates", rows * 4 * sequence.units);
  sequence.hidden = Required<T>(arguments, "hidden", rows * sequence.units + state_size);
  sequence.cells = Required<T>(arguments, "cells", rows * sequence.units + state_size);
  const ElementSpan<T> kernel = Span<T>(arguments.Get("kernel"));
  // TensorFlow's kernel is [I+H,4H], input rows first; the recurrent rows are read in place.
  const ptrdiff_t begin = Size(arguments, "kernelBegin");
  const ptrdiff_t end = begin + 4 * sequence.units * sequence.units;
  if (begin < 0 || kernel.count < end) ThrowCount(arguments.Env(), "kernel", end, kernel.count);
  sequence.kernel = kernel.data + begin;
  // Without gamma there are no norms, and none of the operands below is read.
  sequence.gamma = Elements<T>(arguments, "gamma", kNorms * sequence.units);
  if (sequence.gamma == nullptr) return sequence;
  sequence.beta = Required<T>(arguments, "beta", kNorms * sequence.units);
  sequence.epsilon = Number(arguments, "epsilon");
  sequence.normalized_c = Required<T>(arguments, "normalizedCells", rows * sequence.units);
  sequence.inverses = Required<T>(arguments, "inverses", rows * kNorms);
  return sequence;
}

// lstmForward({ time, batch, units, lengths, hardSigmoid, forgetBias, dropout, gamma, beta, epsilon, gates, hidden,
// cells,
//   normalizedCells, inverses, kernel, kernelBegin: number }); the recurrent rows of the kernel begin at
//   kernelBegin
// The arrays belong to JavaScript and must not move: RunNow blocks its thread until the job is done.
template <typename T>
Job LstmForwardJob(const JobContext& context, const Napi::Object& arguments) {
  const LstmSequence<T> sequence = SequenceOf<T>(arguments);
  return {[=, engine = context.core->engine<T>(context.canceled)] { RunLstmForward(engine, sequence); }};
}

// lstmBackward({ …lstmForward's arguments, dOutputs, dh, dc, dGamma, dBeta })
// gates, hidden and cells are those that the forward wrote. gates receives δz, from which the caller computes the
// gradients of kernel, bias and input as products over all steps.
template <typename T>
Job LstmBackwardJob(const JobContext& context, const Napi::Object& arguments) {
  const LstmSequence<T> sequence = SequenceOf<T>(arguments);
  const ptrdiff_t state_size = sequence.batch * sequence.units;
  LstmSequenceGradients<T> gradients{};
  gradients.d_output = Required<T>(arguments, "dOutputs", sequence.time * state_size);
  gradients.dh = Required<T>(arguments, "dh", state_size);
  gradients.dc = Required<T>(arguments, "dc", state_size);
  if (sequence.gamma != nullptr) {
    gradients.d_gamma = Required<T>(arguments, "dGamma", kNorms * sequence.units);
    gradients.d_beta = Required<T>(arguments, "dBeta", kNorms * sequence.units);
  }
  return {[=, engine = context.core->engine<T>(context.canceled)] { RunLstmBackward(engine, sequence, gradients); }};
}

}  // namespace

const std::vector<JobReader>& LstmSequenceJobs() {
  static const std::vector<JobReader> readers = {
      {"lstmForward", LstmForwardJob<float>, LstmForwardJob<double>, true},
      {"lstmBackward", LstmBackwardJob<float>, LstmBackwardJob<double>, true},
  };
  return readers;
}

}  // namespace cudnn_rnn
