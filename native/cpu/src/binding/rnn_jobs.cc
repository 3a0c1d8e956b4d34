#include <memory>
#include <utility>

#include "arguments.h"
#include "binding/job.h"
#include "binding/network_object.h"
#include "memory/arena.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"

namespace cudnn_rnn {
namespace {

// A share of the network, so JavaScript may collect its object while the job is queued.
template <typename T>
std::shared_ptr<Network<T>> NetworkOf(const Napi::Value& object) {
  return NetworkObject::Unwrap(object.As<Napi::Object>())->network().get<T>();
}

// Elements of all h [L·D,B,C] and all c [L·D,B,H] of a network.
template <typename T>
std::pair<ptrdiff_t, ptrdiff_t> StateSizes(const Network<T>& network, ptrdiff_t batch) {
  const ptrdiff_t rows = network.pseudo_layers() * batch;
  return {rows * network.columns(), rows * network.options().units};
}

// A tape for `pass` behind JavaScript's `object`. Its memory returns to the executor's cache once neither JavaScript
// nor a queued backward holds the tape.
template <typename T>
std::shared_ptr<Tape<T>> AttachTape(const JobContext& context, const ForwardPass<T>& pass, Napi::Object object) {
  const auto core = context.core;
  std::shared_ptr<Tape<T>> tape(new Tape<T>(), [core](Tape<T>* released) {
    core->blocks.GiveBack(std::move(released->memory));
    delete released;
  });
  // Known before the forward runs: the backward's shapes are checked against them at queueing.
  tape->time = pass.time;
  tape->batch = pass.batch;
  if (pass.lengths != nullptr) tape->lengths.assign(pass.lengths, pass.lengths + pass.batch);
  // The size is known before the forward has run.
  Arena measure(nullptr);
  tape->Carve(*pass.network, &measure);
  object.Set("bytes", static_cast<double>(measure.used()));
  TapeObject::Unwrap(object)->tape.set(tape);
  return tape;
}

// forward(network, time, batch, input, h, c, params, quantized, lengths, dropoutPosition, output, hFinal, cFinal, tape,
//         rounds)
//
// tape: a fresh NativeTape in training, else null. quantized: NativeQuantizedWeights that the matrices are read from,
// or null. rounds: whether training rounds the factors of products to bfloat16, as the backward then must.
// Shapes: input [T,B,I], h [L·D,B,C], c [L·D,B,H], output [T,B,D·C], with C = P or H. A missing h or c stands for
// zeros, missing lengths for T in every row.
template <typename T>
Job ForwardJob(const JobContext& context, const Napi::Object& network_object) {
  const Napi::CallbackInfo& info = context.info;
  const auto network = NetworkOf<T>(network_object);
  ForwardPass<T> pass{};
  pass.network = network.get();
  pass.time = info[1].As<Napi::Number>().Int64Value();
  pass.batch = info[2].As<Napi::Number>().Int64Value();
  const ptrdiff_t rows = pass.time * pass.batch;
  const auto [h_size, c_size] = StateSizes(*network, pass.batch);
  pass.input = Required<T>(info[3], "input", rows * network->options().input_size);
  pass.h = Elements<T>(info[4], "h", h_size);
  pass.c = Elements<T>(info[5], "c", c_size);
  pass.params.data = Required<T>(info[6], "params", network->params_size());
  pass.lengths = Elements<int32_t>(info[8], "lengths", pass.batch);
  // The generator of masks is a counter: TypeScript stores the position, so a restored run draws the same masks.
  // Words of the generator that earlier passes used; exact in a double up to 2^53.
  pass.dropout_position = info[9].As<Napi::Number>().Int64Value();
  pass.output = Required<T>(info[10], "output", rows * network->output_size());
  pass.h_final = Required<T>(info[11], "hFinal", h_size);
  pass.c_final = network->has_cell_state() ? Required<T>(info[12], "cFinal", c_size) : nullptr;

  std::shared_ptr<Tape<T>> tape;
  if (info[13].IsObject()) tape = AttachTape(context, pass, info[13].As<Napi::Object>());
  // Filled when the job runs.
  pass.tape = tape.get();
  // The closure holds shares of the network, the tape and the slot: JavaScript may dispose each of them while the job
  // is queued.
  std::shared_ptr<QuantizedSlot> quantized;
  if (info[7].IsObject()) quantized = QuantizedWeightsObject::Unwrap(info[7].As<Napi::Object>())->slot;
  Engine<T> engine = context.core->engine<T>(context.canceled);
  engine.rounds_products = info[14].As<Napi::Boolean>().Value();
  // Every parameter is used once by every step of a row.
  const double operations =
      SingleRowOperations(pass.batch, static_cast<double>(rows) * static_cast<double>(network->params_size()));
  const auto run = [engine, pass, network, tape, quantized]() mutable {
    // The quantize operation that fills the slot may be queued before this one.
    if (quantized != nullptr) pass.params.quantized = quantized->get();
    RunForward(engine, pass);
  };
  if (static_cast<size_t>(rows * network->output_size()) * sizeof(T) > ExecutorCore::kBriefResultBytes) return {run};
  return {run, operations};
}

// backward({ network, input, params, tape, dOutput, dhFinal, dcFinal, dInput, dh, dc, dParams, rounds })
// Gradients have the shapes of their operands. The tape is consumed: the backward overwrites its activations, and
// TypeScript refuses a second use.
template <typename T>
Job BackwardJob(const JobContext& context, const Napi::Object& arguments) {
  const auto network = NetworkOf<T>(arguments.Get("network"));
  // Null after release(); TypeScript refuses such a tape before.
  const auto tape = TapeObject::Unwrap(arguments.Get("tape").As<Napi::Object>())->tape.get<T>();
  BackwardPass<T> pass{};
  pass.network = network.get();
  pass.tape = tape.get();
  const ptrdiff_t rows = tape->time * tape->batch;
  const ptrdiff_t input_size = rows * network->options().input_size;
  const auto [h_size, c_size] = StateSizes(*network, tape->batch);
  pass.input = Required<T>(arguments, "input", input_size);
  pass.params = Required<T>(arguments, "params", network->params_size());
  pass.d_output = Elements<T>(arguments, "dOutput", rows * network->output_size());
  pass.dh_final = Elements<T>(arguments, "dhFinal", h_size);
  pass.dc_final = Elements<T>(arguments, "dcFinal", c_size);
  pass.d_input = Required<T>(arguments, "dInput", input_size);
  pass.dh = Required<T>(arguments, "dh", h_size);
  pass.dc = network->has_cell_state() ? Required<T>(arguments, "dc", c_size) : nullptr;
  pass.d_params = Required<T>(arguments, "dParams", network->params_size());
  Engine<T> engine = context.core->engine<T>(context.canceled);
  engine.rounds_products = Flag(arguments, "rounds");
  return {[engine, pass, network, tape] { RunBackward(engine, pass); }};
}

// quantize({ network, params, quantized: NativeQuantizedWeights, format: number }); float32 only
// Converts the parameters to bfloat16 or int8, once for all networks that share the slot.
// Queued like a pass, so it reads the parameters as earlier updates leave them.
Job QuantizeJob(const JobContext& context, const Napi::Object& arguments) {
  const auto network = NetworkOf<float>(arguments.Get("network"));
  const auto slot = QuantizedWeightsObject::Unwrap(arguments.Get("quantized").As<Napi::Object>())->slot;
  const float* params = Required<float>(arguments, "params", network->params_size());
  const auto format = static_cast<WeightFormat>(Number(arguments, "format"));
  const bool keeps_rounded = context.core->engine<float>(context.canceled).kernels->bfloat16.rounded_product != nullptr;
  return {[=] {
    slot->FillOnce([&] { return std::make_unique<QuantizedWeights>(*network, params, format, keeps_rounded); });
  }};
}

}  // namespace

const std::vector<JobReader>& RnnJobs() {
  static const std::vector<JobReader> readers = {
      {"forward", ForwardJob<float>, ForwardJob<double>},
      {"backward", BackwardJob<float>, BackwardJob<double>},
      {"quantize", QuantizeJob, QuantizeJob},
  };
  return readers;
}

}  // namespace cudnn_rnn
