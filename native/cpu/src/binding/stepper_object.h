#pragma once

#include <memory>

#include "binding/executor_core.h"
#include "napi_setup.h"
#include "passes/rnn_stepper.h"

namespace cudnn_rnn {

// JavaScript's NativeStepper: the B rows of a stream, computed on the calling thread with the help of the pool. A step
// of one row takes microseconds, less than waking another thread, so it does not go through the job queue. Operations
// of the queue may still be writing the parameters: TypeScript waits for those before a step.
class StepperObject : public Napi::ObjectWrap<StepperObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit StepperObject(const Napi::CallbackInfo& info);

 private:
  void Step(const Napi::CallbackInfo& info);
  void StepRows(const Napi::CallbackInfo& info);
  Napi::Value Bind(const Napi::CallbackInfo& info);
  void StepBound();
  void ResetRow(const Napi::CallbackInfo& info);
  void MoveState(const Napi::CallbackInfo& info);
  const QuantizedWeights* QuantizedWeightsAt(const Napi::CallbackInfo& info, size_t index) const;
  BatchRows RowsOf(const Napi::Value& list, const Napi::Value& count) const;

  // Declared first, so destroyed last: the stream's threads and memory belong to it.
  std::shared_ptr<ExecutorCore> core_;
  ptrdiff_t batch_ = 0;
  OfEitherType<Network> network_;
  OfEitherType<Stepper> stepper_;
  // The arrays of Bind(), and their addresses.
  Napi::Reference<Napi::Value> bound_arrays_[3];
  const void* bound_params_ = nullptr;
  const void* bound_input_ = nullptr;
  void* bound_output_ = nullptr;
};

}  // namespace cudnn_rnn
