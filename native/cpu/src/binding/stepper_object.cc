#include "binding/stepper_object.h"

#include <new>

#include "arguments.h"
#include "binding/executor_object.h"
#include "binding/network_object.h"

namespace cudnn_rnn {

Napi::Function StepperObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeStepper",
                     {
                         InstanceMethod<&StepperObject::Step>("step"),
                         InstanceMethod<&StepperObject::ResetRow>("resetRow"),
                         InstanceMethod<&StepperObject::MoveState>("moveState"),
                     });
}

// new NativeStepper(executor: NativeExecutor, network: NativeNetwork, batch: number, int8: boolean)
StepperObject::StepperObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<StepperObject>(info) {
  core_ = ExecutorObject::Unwrap(info[0].As<Napi::Object>())->core();
  const NetworkObject* network = NetworkObject::Unwrap(info[1].As<Napi::Object>());
  batch_ = info[2].ToNumber().Int64Value();
  try {
    if (core_->is_double) {
      network_.f64 = network->network<double>();
      stepper_.f64 = std::make_shared<Stepper<double>>(*network_.f64, batch_, core_->engine<double>(), false);
    } else {
      network_.f32 = network->network<float>();
      stepper_.f32 =
          std::make_shared<Stepper<float>>(*network_.f32, batch_, core_->engine<float>(), info[3].ToBoolean());
    }
  } catch (const std::bad_alloc&) {
    ThrowOutOfMemory(info.Env(), "open a stream");
  }
}

// step(params, input, output, steps: number, quantized: NativeQuantizedWeights | null): void; the quantized weights
// must be filled
void StepperObject::Step(const Napi::CallbackInfo& info) {
  if (core_->is_double) {
    StepOf<double>(info, nullptr);
  } else {
    StepOf<float>(
        info, info[4].IsObject() ? QuantizedWeightsObject::Unwrap(info[4].As<Napi::Object>())->slot->get() : nullptr);
  }
}

template <typename T>
void StepperObject::StepOf(const Napi::CallbackInfo& info, const QuantizedWeights* quantized) {
  const Network<T>& network = *network_.get<T>();
  const ptrdiff_t steps = info[3].ToNumber().Int64Value();
  const T* params = Required<T>(info[0], "params", network.params_size());
  const T* input = Required<T>(info[1], "input", steps * batch_ * network.options().input_size);
  T* output = Required<T>(info[2], "out", steps * batch_ * network.columns());
  stepper_.get<T>()->Run(core_->engine<T>(), {params, quantized}, input, output, steps);
}

// resetRow(row: number): void
void StepperObject::ResetRow(const Napi::CallbackInfo& info) {
  const ptrdiff_t row = info[0].ToNumber().Int64Value();
  if (core_->is_double) {
    stepper_.f64->ResetRow(row);
  } else {
    stepper_.f32->ResetRow(row);
  }
}

// moveState(h, c | null, into: boolean): void
void StepperObject::MoveState(const Napi::CallbackInfo& info) {
  if (core_->is_double) {
    MoveStateOf<double>(info);
  } else {
    MoveStateOf<float>(info);
  }
}

template <typename T>
void StepperObject::MoveStateOf(const Napi::CallbackInfo& info) {
  const Network<T>& network = *network_.get<T>();
  const ptrdiff_t rows = network.pseudo_layers() * batch_;
  T* h = Required<T>(info[0], "h", rows * network.columns());
  T* c = Elements<T>(info[1], "c", rows * network.options().units);
  stepper_.get<T>()->MoveState(h, c, info[2].ToBoolean().Value());
}

}  // namespace cudnn_rnn
