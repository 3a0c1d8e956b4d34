#include "binding/network_object.h"

#include <string>

#include "arguments.h"
#include "binding/executor_object.h"

namespace cudnn_rnn {
namespace {

// The slot of a key, or a new one without a key.
std::shared_ptr<QuantizedSlot> SlotOf(const Napi::Value& key) {
  return key.IsString() ? QuantizedSlot::Shared(key.ToString().Utf8Value()) : std::make_shared<QuantizedSlot>();
}

}  // namespace

Napi::Function NetworkObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeNetwork",
                     {
                         InstanceMethod<&NetworkObject::ParamsSize>("paramsSize"),
                         InstanceMethod<&NetworkObject::MoveRegion>("moveRegion"),
                     });
}

// new NativeNetwork(executor: NativeExecutor, numbers: Float64Array)
NetworkObject::NetworkObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NetworkObject>(info) {
  // The executor's kernels and element type decide the layout: a chunk is 64 bytes of either.
  const std::shared_ptr<ExecutorCore>& core = ExecutorObject::Unwrap(info[0].As<Napi::Object>())->core();
  const NetworkOptions options = OptionsOf(Required<double>(info[1], "numbers", kNetworkNumbers));
  if (core->is_double) {
    network_.f64 = std::make_shared<Network<double>>(options, core->kernels->f64.panel_order);
  } else {
    network_.f32 = std::make_shared<Network<float>>(options, core->kernels->f32.panel_order);
  }
}

// paramsSize(): number
// Elements, with the padding of units to whole chunks.
Napi::Value NetworkObject::ParamsSize(const Napi::CallbackInfo& info) {
  const ptrdiff_t size = network_.Visit([](const auto& network) { return network.params_size(); });
  return Napi::Number::New(info.Env(), static_cast<double>(size));
}

// moveRegion(params, canonical, pseudoLayer: number, side: 0 | 1 | 2, gate: number, isBias: boolean, into: boolean):
// void
// One tensor between the canonical form and the opaque buffer, in the direction of `into`. On JavaScript's thread:
// saving and loading are rare.
void NetworkObject::MoveRegion(const Napi::CallbackInfo& info) {
  const int pseudo_layer = info[2].ToNumber().Int32Value();
  const Side side = static_cast<Side>(info[3].ToNumber().Int32Value());
  const int gate = info[4].ToNumber().Int32Value();
  const bool is_bias = info[5].ToBoolean().Value();
  const bool into = info[6].ToBoolean().Value();
  network_.Visit([&]<typename T>(const Network<T>& network) {
    T* params = Required<T>(info[0], "params", network.params_size());
    // Both lengths are checked against the layout before MoveWeight computes addresses of them. `pseudoLayer`, `side`
    // and `gate` come from the table of regions in packages/canonical.
    T* canonical =
        Required<T>(info[1], "canonical", is_bias ? network.options().units : network.WeightSize(pseudo_layer, side));
    if (is_bias) {
      network.MoveBias(params, canonical, pseudo_layer, side, gate, into);
    } else {
      network.MoveWeight(params, canonical, pseudo_layer, side, gate, into);
    }
  });
}

// release() drops JavaScript's share of the tape; a queued backward may still hold one.
Napi::Function TapeObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeTape", {InstanceMethod<&TapeObject::Release>("release")});
}

Napi::Function QuantizedWeightsObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeQuantizedWeights", {InstanceMethod<&QuantizedWeightsObject::Owners>("owners")});
}

// new NativeQuantizedWeights(key?: string)
QuantizedWeightsObject::QuantizedWeightsObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<QuantizedWeightsObject>(info), slot(SlotOf(info[0])) {}

// How many objects share the slot, this one included: tests check that equal keys share one copy.
// owners(): number
Napi::Value QuantizedWeightsObject::Owners(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(slot.use_count()));
}

}  // namespace cudnn_rnn
