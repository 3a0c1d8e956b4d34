#include "binding/network_object.h"

#include <limits>
#include <string>

#include "arguments.h"
#include "binding/executor_object.h"

namespace cudnn_rnn {
namespace {

// packages/canonical's names of cells.
Cell CellOf(const std::string& mode) {
  if (mode == "lstm") return Cell::kLstm;
  if (mode == "gru") return Cell::kGru;
  return mode == "rnn_relu" ? Cell::kRelu : Cell::kTanh;
}

// The descriptor was validated by packages/canonical; unknown strings cannot occur here.
NetworkOptions OptionsOf(const Napi::Object& descriptor) {
  NetworkOptions options{};
  const std::string bias = descriptor.Get("biasMode").ToString().Utf8Value();
  options.cell = CellOf(descriptor.Get("cellMode").ToString().Utf8Value());
  options.layers = static_cast<int>(Number(descriptor, "numLayers"));
  options.directions = descriptor.Get("direction").ToString().Utf8Value() == "bidirectional" ? 2 : 1;
  options.units = static_cast<ptrdiff_t>(Number(descriptor, "numUnits"));
  options.input_size = static_cast<ptrdiff_t>(Number(descriptor, "inputSize"));
  options.projection =
      descriptor.Get("numProj").IsUndefined() ? 0 : static_cast<ptrdiff_t>(Number(descriptor, "numProj"));
  options.skip_input = descriptor.Get("inputMode").ToString().Utf8Value() == "skip_input";
  options.input_bias = bias == "double" || bias == "single_input";
  options.recurrent_bias = bias == "double" || bias == "single_recurrent";
  options.clip = descriptor.Get("cellClip").IsUndefined() ? std::numeric_limits<double>::infinity()
                                                          : Number(descriptor, "cellClip");
  options.dropout = Number(descriptor, "dropout");
  // An integer below 2^53, so exact in a double.
  options.seed = static_cast<uint64_t>(Number(descriptor, "seed"));
  return options;
}

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

// new NativeNetwork(executor: NativeExecutor, descriptor: RnnDescriptor)
NetworkObject::NetworkObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NetworkObject>(info) {
  // The executor's kernels and element type decide the layout: a chunk is 64 bytes of either.
  const std::shared_ptr<ExecutorCore>& core = ExecutorObject::Unwrap(info[0].As<Napi::Object>())->core();
  const NetworkOptions options = OptionsOf(info[1].As<Napi::Object>());
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
