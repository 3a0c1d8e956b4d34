#include "binding/stepper_object.h"

#include <new>
#include <string>

#include "arguments.h"
#include "binding/executor_object.h"
#include "binding/network_object.h"
#include "callbacks.h"

namespace cudnn_rnn {

Napi::Function StepperObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeStepper",
                     {
                         InstanceMethod<&StepperObject::Step>("step"),
                         InstanceMethod<&StepperObject::StepRows>("stepRows"),
                         InstanceMethod<&StepperObject::Bind>("bind"),
                         InstanceMethod<&StepperObject::ResetRow>("resetRow"),
                         InstanceMethod<&StepperObject::MoveState>("moveState"),
                     });
}

// new NativeStepper(executor: NativeExecutor, network: NativeNetwork, batch: number, format: number)
StepperObject::StepperObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<StepperObject>(info) {
  // A share of the core: the stream stays usable memory even if the executor is closed first; TypeScript refuses steps
  // then.
  core_ = ExecutorObject::Unwrap(info[0].As<Napi::Object>())->core();
  network_ = NetworkObject::Unwrap(info[1].As<Napi::Object>())->network();
  batch_ = info[2].ToNumber().Int64Value();
  const auto format =
      core_->is_double ? WeightFormat::kNative : static_cast<WeightFormat>(info[3].ToNumber().Int32Value());
  try {
    network_.Visit([&]<typename T>(const Network<T>& network) {
      stepper_.set(std::make_shared<Stepper<T>>(network, batch_, core_->engine<T>(), format));
    });
  } catch (const std::bad_alloc&) {
    ThrowOutOfMemory(info.Env(), "open a stream");
  }
}

// The last argument; null if it is left out or null, and the parameters themselves are read. The number of arguments
// is at hand, the type of a value costs a call of Node-API. The slot was filled by a queued job that JavaScript has
// awaited, which orders its writes before this read.
const QuantizedWeights* StepperObject::QuantizedWeightsAt(const Napi::CallbackInfo& info, size_t index) const {
  if (core_->is_double || info.Length() <= index || !info[index].IsObject()) return nullptr;
  return QuantizedWeightsObject::Unwrap(info[index].As<Napi::Object>())->slot->get();
}

// step(params, input, output, steps: number, quantized?: NativeQuantizedWeights): void; the quantized weights must be
// filled
// input [steps,B,I] → out [steps,B,C]. Runs on JavaScript's thread; nothing else uses the stream's state meanwhile.
void StepperObject::Step(const Napi::CallbackInfo& info) {
  const ptrdiff_t steps = info[3].As<Napi::Number>().Int64Value();
  network_.Visit([&]<typename T>(const Network<T>& network) {
    const T* params = Required<T>(info[0], "params", network.params_size());
    const T* input = Required<T>(info[1], "input", steps * batch_ * network.options().input_size);
    T* output = Required<T>(info[2], "out", steps * batch_ * network.columns());
    stepper_.get<T>()->Run(core_->engine<T>(), {params, QuantizedWeightsAt(info, 4)}, input, output, steps);
  });
}

// bind(params, input [B,I], output [B,C]): () => void, a function that computes one step between these arrays. Asking
// Node-API for the addresses of three arrays takes 100 ns, a step of a small network 1 µs, so it is done once. The
// caller keeps the arrays from being transferred or resized.
Napi::Value StepperObject::Bind(const Napi::CallbackInfo& info) {
  network_.Visit([&]<typename T>(const Network<T>& network) {
    bound_params_ = Required<T>(info[0], "params", network.params_size());
    bound_input_ = Required<T>(info[1], "input", batch_ * network.options().input_size);
    bound_output_ = Required<T>(info[2], "out", batch_ * network.columns());
  });
  for (size_t k = 0; k < 3; k++) bound_arrays_[k] = Napi::Reference<Napi::Value>::New(info[k], 1);
  const Napi::Function function = BoundFunction<&StepperObject::StepBound>(info.Env(), "stepBound", this);
  // Keeps this object as long as the function, which has its address.
  function.Set("stepper", info.This());
  return function;
}

void StepperObject::StepBound() {
  stepper_.Visit([&]<typename T>(Stepper<T>& stepper) {
    stepper.Run(core_->engine<T>(), {static_cast<const T*>(bound_params_)}, static_cast<const T*>(bound_input_),
                static_cast<T*>(bound_output_), 1);
  });
}

// stepRows(params, rows: Int32Array, count: number, input, output, quantized?: NativeQuantizedWeights): void; of the
// first `count` rows, which are distinct
void StepperObject::StepRows(const Napi::CallbackInfo& info) {
  // Checked here although TypeScript has checked them: the array may have changed since.
  const BatchRows rows = RowsOf(info[1], info[2]);
  network_.Visit([&]<typename T>(const Network<T>& network) {
    const T* params = Required<T>(info[0], "params", network.params_size());
    const T* input = Required<T>(info[3], "input", rows.count * network.options().input_size);
    T* output = Required<T>(info[4], "out", rows.count * network.columns());
    stepper_.get<T>()->RunRows(core_->engine<T>(), {params, QuantizedWeightsAt(info, 5)}, rows.list, rows.count, input,
                               output);
  });
}

// The first `count` rows of a list, all rows of the batch without one. Addresses are computed of them: they are
// checked.
BatchRows StepperObject::RowsOf(const Napi::Value& list, const Napi::Value& count) const {
  if (list.IsNull() || list.IsUndefined()) return {nullptr, 0, batch_};
  const ElementSpan<int32_t> span = Span<int32_t>(list);
  const ptrdiff_t rows = count.ToNumber().Int64Value();
  if (rows < 0 || rows > span.count || rows > batch_) ThrowCount(list.Env(), "rows", rows, span.count);
  for (ptrdiff_t index = 0; index < rows; index++) {
    if (span.data[index] >= 0 && span.data[index] < batch_) continue;
    ThrowCoded<Napi::RangeError>(list.Env(), "ERR_STREAM_ROW",
                                 "Cannot step a stream as rows must be in 0.." + std::to_string(batch_ - 1) +
                                     ": current value is " + std::to_string(span.data[index]));
  }
  return {span.data, 0, rows};
}

// resetRow(row: number): void
void StepperObject::ResetRow(const Napi::CallbackInfo& info) {
  stepper_.Visit([&](auto& stepper) { stepper.states().ResetRow(info[0].ToNumber().Int64Value()); });
}

// moveState(h, c | null, into: boolean, rows: Int32Array | null, count: number): void
// h [L,R,C] and c [L,R,H], of the listed rows or of all.
void StepperObject::MoveState(const Napi::CallbackInfo& info) {
  const BatchRows rows = RowsOf(info[3], info[4]);
  network_.Visit([&]<typename T>(const Network<T>& network) {
    const ptrdiff_t states = network.pseudo_layers() * rows.count;
    T* h = Required<T>(info[0], "h", states * network.columns());
    T* c = Elements<T>(info[1], "c", states * network.options().units);
    stepper_.get<T>()->states().Move(h, c, info[2].ToBoolean().Value(), rows);
  });
}

}  // namespace cudnn_rnn
