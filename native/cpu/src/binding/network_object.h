#pragma once

#include <memory>

#include "binding/executor_core.h"
#include "napi_setup.h"
#include "passes/rnn_tape.h"
#include "weights/network.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

// JavaScript's NativeNetwork: sizes and layout of one network.
class NetworkObject : public Napi::ObjectWrap<NetworkObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit NetworkObject(const Napi::CallbackInfo& info);

  template <typename T>
  const std::shared_ptr<Network<T>>& network() const {
    return network_.get<T>();
  }

 private:
  Napi::Value ParamsSize(const Napi::CallbackInfo& info);
  void MoveRegion(const Napi::CallbackInfo& info);
  template <typename T>
  void MoveRegionOf(const Napi::CallbackInfo& info);

  OfEitherType<Network> network_;
};

// JavaScript's NativeTape: what a training forward keeps.
class TapeObject : public Napi::ObjectWrap<TapeObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit TapeObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<TapeObject>(info) {}

  OfEitherType<Tape> tape;

 private:
  // A job that still uses the tape keeps its memory until it is done.
  void Release(const Napi::CallbackInfo&) { tape = {}; }
};

// JavaScript's NativeQuantizedWeights: filled by a queued operation.
class QuantizedWeightsObject : public Napi::ObjectWrap<QuantizedWeightsObject> {
 public:
  static Napi::Function Define(Napi::Env env) { return DefineClass(env, "NativeQuantizedWeights", {}); }
  explicit QuantizedWeightsObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<QuantizedWeightsObject>(info) {}

  // Shared with the operations that fill and read it.
  const std::shared_ptr<std::unique_ptr<QuantizedWeights>> slot = std::make_shared<std::unique_ptr<QuantizedWeights>>();
};

}  // namespace cudnn_rnn
