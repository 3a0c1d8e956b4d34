#include "stepper_object.h"

#include "arguments.h"
#include "executor_object.h"
#include "network_object.h"

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
  const ptrdiff_t batch = info[2].ToNumber().Int64Value();
  if (core_->is_double) {
    network_.f64 = network->network<double>();
    stepper_.f64 = std::make_shared<Stepper<double>>(*network_.f64, batch, core_->pool, false);
  } else {
    network_.f32 = network->network<float>();
    stepper_.f32 = std::make_shared<Stepper<float>>(*network_.f32, batch, core_->pool, info[3].ToBoolean());
  }
}

// step(params, input, output, steps: number, narrow: NativeNarrowWeights | null): void; the narrow weights must be filled
void StepperObject::Step(const Napi::CallbackInfo& info) {
  const ptrdiff_t steps = info[3].ToNumber().Int64Value();
  if (core_->is_double) {
    stepper_.f64->Run(core_->engine<double>(), {Elements<double>(info[0])}, Elements<double>(info[1]),
                      Elements<double>(info[2]), steps);
  } else {
    const NarrowWeights* narrow =
        info[4].IsObject() ? NarrowWeightsObject::Unwrap(info[4].As<Napi::Object>())->slot->get() : nullptr;
    stepper_.f32->Run(core_->engine<float>(), {Elements<float>(info[0]), narrow}, Elements<float>(info[1]),
                      Elements<float>(info[2]), steps);
  }
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
  const bool into = info[2].ToBoolean().Value();
  if (core_->is_double) {
    stepper_.f64->MoveState(Elements<double>(info[0]), Elements<double>(info[1]), into);
  } else {
    stepper_.f32->MoveState(Elements<float>(info[0]), Elements<float>(info[1]), into);
  }
}

}  // namespace cudnn_rnn
