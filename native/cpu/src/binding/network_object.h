#pragma once

#include <memory>

#include "binding/executor_core.h"
#include "napi_setup.h"
#include "passes/rnn_tape.h"
#include "weights/network.h"
#include "weights/quantized_slot.h"

namespace cudnn_rnn {

// JavaScript's NativeNetwork: sizes and layout of one network. It owns no parameters: these are arrays of JavaScript,
// passed to each operation. Jobs hold a share of the network, so it may be collected while one runs.
class NetworkObject : public Napi::ObjectWrap<NetworkObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit NetworkObject(const Napi::CallbackInfo& info);

  const OfEitherType<Network>& network() const { return network_; }

 private:
  Napi::Value ParamsSize(const Napi::CallbackInfo& info);
  void MoveRegion(const Napi::CallbackInfo& info);

  OfEitherType<Network> network_;
};

// JavaScript's NativeTape: the intermediate values of a training forward.
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
  static Napi::Function Define(Napi::Env env);
  explicit QuantizedWeightsObject(const Napi::CallbackInfo& info);

  // Shared with the operations that fill and read it, and under a key with the objects of other threads.
  const std::shared_ptr<QuantizedSlot> slot;

 private:
  Napi::Value Owners(const Napi::CallbackInfo& info);
};

}  // namespace cudnn_rnn
