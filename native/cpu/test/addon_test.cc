#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "addon_calls.h"

namespace cudnn_rnn {
namespace {

std::vector<std::string> InstructionSetsOf(const AddonCalls& calls) {
  const auto array = calls.Call(calls.exports, "instructionSets").As<Napi::Array>();
  std::vector<std::string> names;
  for (uint32_t k = 0; k < array.Length(); k++) names.push_back(array.Get(k).ToString());
  return names;
}

TEST_CASE("the addon exports each instruction set once, the portable one last") {
  const AddonCalls calls;
  const std::vector<std::string> names = InstructionSetsOf(calls);
  REQUIRE(!names.empty());
  CHECK(names.back() == "portable");
  for (size_t k = 0; k < names.size(); k++) {
    for (size_t other = k + 1; other < names.size(); other++) CHECK(names[k] != names[other]);
  }
}

TEST_CASE("the addon counts at least one core, and no more than the system has processors") {
  const AddonCalls calls;
  const double cores = calls.Call(calls.exports, "physicalCores").ToNumber().DoubleValue();
  CHECK(cores >= 1);
  CHECK(cores <= std::max(1u, std::thread::hardware_concurrency()));
}

TEST_CASE("alignedOffset leads from any place to a multiple of 64 less than 64 bytes later") {
  const AddonCalls calls;
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(calls.env, 256);
  const auto begin = reinterpret_cast<uintptr_t>(buffer.Data());
  const double of_buffer = calls.Call(calls.exports, "alignedOffset", Napi::Value(buffer)).ToNumber().DoubleValue();
  CHECK((begin + static_cast<uintptr_t>(of_buffer)) % 64 == 0);
  for (size_t offset = 0; offset < 65; offset++) {
    const auto view = Napi::Uint8Array::New(calls.env, 1, buffer, offset);
    const double bytes = calls.Call(calls.exports, "alignedOffset", Napi::Value(view)).ToNumber().DoubleValue();
    CHECK(bytes >= 0);
    CHECK(bytes < 64);
    CHECK((begin + offset + static_cast<uintptr_t>(bytes)) % 64 == 0);
  }
}

// docs/numerics.md: activations are within a few units in the last place.
TEST_CASE_TEMPLATE("activation applies the function of its name in place, on every instruction set", T, float, double) {
  const AddonCalls calls;
  std::vector<T> values;
  for (int k = 0; k < 32; k++) values.push_back(static_cast<T>(-8 + 0.5 * k));
  const double tolerance = sizeof(T) == sizeof(float) ? 1e-6 : 1e-14;
  for (const std::string& name : InstructionSetsOf(calls)) {
    CAPTURE(name);
    const Napi::Object tanh = calls.Array(values), sigmoid = calls.Array(values);
    calls.Call(calls.exports, "activation", name.c_str(), "tanh", tanh);
    calls.Call(calls.exports, "activation", name.c_str(), "sigmoid", sigmoid);
    for (size_t k = 0; k < values.size(); k++) {
      const double x = values[k];
      CHECK(std::abs(ElementsOf<T>(tanh)[k] - std::tanh(x)) < tolerance);
      CHECK(std::abs(ElementsOf<T>(sigmoid)[k] - 1 / (1 + std::exp(-x))) < tolerance);
    }
  }
  const Napi::Object left = calls.Array(values);
  calls.Call(calls.exports, "activation", "unknown", "tanh", left);
  CHECK(ElementsOf<T>(left) == values);
}

TEST_CASE("the addon serves several environments of one process side by side") {
  const AddonCalls first, second;
  const Napi::Object one = first.New("NativeQuantizedWeights", "the same key");
  CHECK(first.Call(one, "owners").ToNumber().DoubleValue() == 1);
  {
    AddonCalls worker;
    const Napi::Object two = worker.New("NativeQuantizedWeights", "the same key");
    CHECK(worker.Call(two, "owners").ToNumber().DoubleValue() == 2);
    CHECK(second.Call(second.New("NativeQuantizedWeights", "another key"), "owners").ToNumber().DoubleValue() == 1);
  }
  // The worker's environment has ended.
  CHECK(first.Call(one, "owners").ToNumber().DoubleValue() == 1);
  // Without a key each has its own.
  CHECK(first.Call(first.New("NativeQuantizedWeights"), "owners").ToNumber().DoubleValue() == 1);
}

}  // namespace
}  // namespace cudnn_rnn
