#include "arguments.h"
#include "binding/executor_object.h"
#include "binding/network_object.h"
#include "binding/stepper_object.h"
#include "kernels/instruction_sets.h"
#include "napi_setup.h"
#include "threads/physical_cores.h"

namespace cudnn_rnn {
namespace {

// instructionSets(): string[], best first
Napi::Value InstructionSets(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (const Kernels* kernels : SupportedKernels()) names.Set(names.Length(), kernels->name);
  return names;
}

// physicalCores(): number
Napi::Value PhysicalCoresOf(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), PhysicalCores()); }

// alignedOffset(memory: ArrayBuffer | Uint8Array): number of bytes from its beginning to a multiple of 64. Node-API
// gives the address of a SharedArrayBuffer by a view only.
Napi::Value AlignedOffset(const Napi::CallbackInfo& info) {
  const void* begin = info[0].IsTypedArray() ? Span<uint8_t>(info[0]).data : info[0].As<Napi::ArrayBuffer>().Data();
  // 64 bytes: a cache line, and the widest vector.
  const auto address = reinterpret_cast<uintptr_t>(begin);
  return Napi::Number::New(info.Env(), static_cast<double>((64 - address % 64) % 64));
}

// activation(instructionSet: string, name: 'sigmoid' | 'tanh', values: Float32Array | Float64Array): void, in place;
// their number is a multiple of 16. For the measurement of the error.
void Activation(const Napi::CallbackInfo& info) {
  const std::string name = info[0].ToString().Utf8Value();
  const bool is_tanh = info[1].ToString().Utf8Value() == "tanh";
  const bool is_double = info[2].As<Napi::TypedArray>().TypedArrayType() == napi_float64_array;
  for (const Kernels* kernels : SupportedKernels()) {
    if (kernels->name != name) continue;
    if (is_double) {
      const ElementSpan<double> values = Span<double>(info[2]);
      (is_tanh ? kernels->f64.tanh : kernels->f64.sigmoid)(values.data, values.data, values.count);
    } else {
      const ElementSpan<float> values = Span<float>(info[2]);
      (is_tanh ? kernels->f32.tanh : kernels->f32.sigmoid)(values.data, values.data, values.count);
    }
  }
}

// Called once in each environment (main thread, worker threads). The only state outside of objects is the table of
// shared quantized weights (weights/quantized_slot.h).
Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("instructionSets", Napi::Function::New<InstructionSets>(env, "instructionSets"));
  exports.Set("physicalCores", Napi::Function::New<PhysicalCoresOf>(env, "physicalCores"));
  exports.Set("alignedOffset", Napi::Function::New<AlignedOffset>(env, "alignedOffset"));
  exports.Set("activation", Napi::Function::New<Activation>(env, "activation"));
  exports.Set("NativeExecutor", ExecutorObject::Define(env));
  exports.Set("NativeNetwork", NetworkObject::Define(env));
  exports.Set("NativeTape", TapeObject::Define(env));
  exports.Set("NativeQuantizedWeights", QuantizedWeightsObject::Define(env));
  exports.Set("NativeStepper", StepperObject::Define(env));
  return exports;
}

}  // namespace
}  // namespace cudnn_rnn

static Napi::Object Init(Napi::Env env, Napi::Object exports) { return cudnn_rnn::Initialize(env, exports); }

NODE_API_MODULE(cudnn_rnn_cpu, Init)
