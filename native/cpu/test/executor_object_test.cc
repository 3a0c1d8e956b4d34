#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dense/operations.h"
#include "executor_calls.h"

namespace cudnn_rnn {
namespace {

using in_process_node_api::PromiseState;

// Arguments of `run`.
Napi::Object ArgumentsOf(const AddonCalls& calls, Operation operation, const std::vector<Napi::Value>& arrays,
                         double elements, const std::vector<double>& numbers) {
  Napi::Array operands = Napi::Array::New(calls.env);
  for (size_t k = 0; k < arrays.size(); k++) operands.Set(static_cast<uint32_t>(k), arrays[k]);
  std::vector<double> counts(arrays.size(), elements);
  counts.push_back(0);
  return calls.ObjectOf({{"op", calls.Value(static_cast<double>(operation))},
                         {"operands", operands},
                         {"counts", calls.Array(counts)},
                         {"integers", calls.env.Null()},
                         {"numbers", calls.Array(numbers)}});
}

Napi::Array OperandsOf(const Napi::Object& arguments) { return arguments.Get("operands").As<Napi::Array>(); }

// Adds 1 to the elements of `x`: an operation that is always queued.
template <typename T>
Napi::Object AddOne(const ExecutorCalls<T>& calls, const Napi::Object& x, size_t count) {
  return ArgumentsOf(calls, Operation::kAddScaled, {x, calls.Array(std::vector<T>(count, T{1}))},
                     static_cast<double>(count), {1});
}

// y [1] = 2·3 + 1: an operation that is brief.
Napi::Object BriefProduct(const AddonCalls& calls) {
  const auto one = [&](double value) -> Napi::Value { return calls.Array<double>({value}); };
  return ArgumentsOf(calls, Operation::kLinear, {one(0), one(2), one(3), one(1)}, 1, {1, 1, 1});
}

TEST_CASE("NativeExecutor describes the instruction set and the threads it was opened with") {
  const AddonCalls calls;
  const auto names = calls.Call(calls.exports, "instructionSets").As<Napi::Array>();
  for (uint32_t k = 0; k < names.Length(); k++) {
    const std::string name = names.Get(k).ToString();
    const Napi::Object executor = calls.New("NativeExecutor", name.c_str(), 2.0, false, false);
    const auto description = calls.Call(executor, "describe").As<Napi::Object>();
    CHECK(description.Get("instructionSet").ToString().Utf8Value() == name);
    CHECK(description.Get("threads").ToNumber().Int32Value() == 2);
  }
}

TEST_CASE("NativeExecutor refuses an instruction set that this build does not have") {
  const AddonCalls calls;
  for (const char* name : {"sse2", "", "Portable"}) {
    CHECK(MessageOf([&] { calls.New("NativeExecutor", name, 1.0, false, false); }) ==
          "Cannot open the executor as this processor lacks the instruction set");
  }
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
}

TEST_CASE("NativeExecutor that is refused a thread-safe function is not opened") {
  AddonCalls calls;
  calls.environment.RefuseThreadsafeFunctions();
  CHECK(MessageOf([&] { calls.New("NativeExecutor", "portable", 1.0, false, false); }) ==
        "Cannot notify the JavaScript thread as Node.js refused a thread-safe function");
}

TEST_CASE("NativeExecutor that is idle does not keep the process alive") {
  ExecutorCalls<double> calls;
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
  calls.Run("run", BriefProduct(calls));
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
}

TEST_CASE("NativeExecutor keeps the process alive while a promise waits") {
  ExecutorCalls<double> calls;
  const Napi::Object x = calls.Array<double>({5});
  // The first operation of the executor has number 1, which is not queued yet.
  const Napi::Value promise = calls.Call(calls.executor, "done", 1.0);
  CHECK(calls.environment.StateOf(promise) == PromiseState::kPending);
  CHECK(calls.environment.KeepsProcessAlive());
  calls.Call(calls.executor, "run", AddOne(calls, x, 1));
  calls.environment.Await([&] { return calls.environment.StateOf(promise) != PromiseState::kPending; });
  CHECK(calls.environment.StateOf(promise) == PromiseState::kFulfilled);
  CHECK(Napi::Value(calls.env, calls.environment.ResultOf(promise)).IsUndefined());
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
  CHECK(ElementsOf<double>(x) == std::vector<double>{6});
}

TEST_CASE("NativeExecutor has run a brief operation when the call returns") {
  ExecutorCalls<double> calls;
  const Napi::Object arguments = BriefProduct(calls);
  CHECK(calls.Call(calls.executor, "run", arguments).ToNumber().DoubleValue() == 0);
  CHECK(ElementsOf<double>(OperandsOf(arguments).Get(0u)) == std::vector<double>{7});
  CHECK(calls.Call(calls.executor, "completed", 1.0).ToBoolean().Value());
  CHECK_FALSE(calls.Call(calls.executor, "completed", 2.0).ToBoolean().Value());
  // Nothing is left to run, so nothing holds the arrays.
  CHECK_FALSE(calls.environment.IsHeld(arguments));
}

TEST_CASE("NativeExecutor numbers operations from 1 and runs them in their order") {
  ExecutorCalls<double> calls(2);
  constexpr size_t kCount = 40000;
  const Napi::Object x = calls.Array(std::vector<double>(kCount, 0.5));
  for (int k = 1; k <= 20; k++) {
    CHECK(calls.Call(calls.executor, "run", AddOne(calls, x, kCount)).ToNumber().DoubleValue() == k);
  }
  // Brief, but after those queued.
  const double last = calls.Call(calls.executor, "run", BriefProduct(calls)).ToNumber().DoubleValue();
  CHECK((last == 21 || last == 0));  // 0 if they are done
  calls.Call(calls.executor, "wait", 21.0);
  CHECK(calls.Call(calls.executor, "completed", 21.0).ToBoolean().Value());
  CHECK(ElementsOf<double>(x) == std::vector<double>(kCount, 20.5));
}

TEST_CASE("NativeExecutor holds the arrays of a queued operation until it is done, and no longer") {
  ExecutorCalls<double> calls;
  constexpr size_t kCount = 100000;
  const Napi::Object x = calls.Array(std::vector<double>(kCount));
  std::vector<Napi::Object> queued;
  for (int k = 0; k < 5; k++) queued.push_back(AddOne(calls, x, kCount));
  std::vector<double> numbers;
  for (const Napi::Object& each : queued) {
    numbers.push_back(calls.Call(calls.executor, "run", each).ToNumber().DoubleValue());
    const bool is_held = calls.environment.IsHeld(x);
    const bool is_done = calls.Call(calls.executor, "completed", numbers.back()).ToBoolean().Value();
    CHECK((is_held || is_done));
  }
  calls.Settled(numbers.back());
  CHECK_FALSE(calls.environment.IsHeld(x));
  for (const Napi::Object& each : queued) CHECK_FALSE(calls.environment.IsHeld(each));
}

TEST_CASE("NativeExecutor settles promises of any order, several of one operation, and those of finished ones") {
  ExecutorCalls<double> calls;
  const Napi::Object x = calls.Array<double>({0});
  std::vector<Napi::Value> promises;
  for (const double number : {3.0, 1.0, 2.0, 3.0}) promises.push_back(calls.Call(calls.executor, "done", number));
  for (int k = 0; k < 3; k++) calls.Call(calls.executor, "run", AddOne(calls, x, 1));
  for (const Napi::Value& promise : promises) {
    calls.environment.Await([&] { return calls.environment.StateOf(promise) != PromiseState::kPending; });
    CHECK(calls.environment.StateOf(promise) == PromiseState::kFulfilled);
  }
  CHECK(calls.environment.StateOf(calls.Call(calls.executor, "done", 1.0)) == PromiseState::kFulfilled);
  CHECK(calls.environment.StateOf(calls.Call(calls.executor, "done", 0.0)) == PromiseState::kFulfilled);
}

TEST_CASE("NativeExecutor::close rejects the promises that wait, and may be called again") {
  ExecutorCalls<double> calls;
  const Napi::Object x = calls.Array<double>({0});
  calls.Call(calls.executor, "run", AddOne(calls, x, 1));
  const Napi::Value promise = calls.Call(calls.executor, "done", 9.0);
  calls.Call(calls.executor, "close");
  CHECK(calls.environment.StateOf(promise) == PromiseState::kRejected);
  const Napi::Object error(calls.env, calls.environment.ResultOf(promise));
  CHECK(error.Get("message").ToString().Utf8Value() == "closed");
  CHECK_FALSE(calls.environment.IsHeld(x));
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
  calls.Call(calls.executor, "close");
  CHECK(calls.environment.StateOf(promise) == PromiseState::kRejected);
}

TEST_CASE("NativeExecutor::close drops operations that have not begun") {
  ExecutorCalls<double> calls;
  constexpr size_t kCount = 200000;
  const Napi::Object x = calls.Array(std::vector<double>(kCount));
  constexpr int kQueued = 200;
  const Napi::Object arguments = AddOne(calls, x, kCount);
  for (int k = 0; k < kQueued; k++) calls.Call(calls.executor, "run", arguments);
  calls.Call(calls.executor, "close");
  const std::vector<double> at_close = ElementsOf<double>(x);
  // Every operation was run whole or not at all, and none runs later: the thread has ended.
  CHECK(at_close.front() <= kQueued);
  CHECK(at_close == std::vector<double>(kCount, at_close.front()));
  CHECK(ElementsOf<double>(x) == at_close);
}

TEST_CASE("NativeExecutor ends its thread before its environment, also with operations queued and a promise waiting") {
  std::vector<Napi::Object> executors;
  ExecutorCalls<double> calls;
  constexpr size_t kCount = 100000;
  const Napi::Object x = calls.Array(std::vector<double>(kCount));
  for (int k = 0; k < 50; k++) calls.Call(calls.executor, "run", AddOne(calls, x, kCount));
  calls.Call(calls.executor, "done", 50.0);
  calls.environment.RunCleanupHooks();
  const std::vector<double> after = ElementsOf<double>(x);
  CHECK(after == std::vector<double>(kCount, after.front()));
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
  // The object may be collected after the hooks.
  calls.environment.Collect(calls.executor);
}

TEST_CASE("NativeExecutor drops the promises of an environment in which JavaScript has ended") {
  ExecutorCalls<double> calls;
  // Milliseconds, so that it is not done before JavaScript ends.
  constexpr size_t kCount = 4'000'000;
  const Napi::Object x = calls.Array(std::vector<double>(kCount));
  calls.Call(calls.executor, "run", AddOne(calls, x, kCount));
  const Napi::Value promise = calls.Call(calls.executor, "done", 1.0);
  calls.environment.EndJavaScript();
  calls.environment.Await([&] { return !calls.environment.KeepsProcessAlive(); });
  CHECK(calls.environment.StateOf(promise) == in_process_node_api::PromiseState::kPending);
}

TEST_CASE("NativeExecutor that is collected removes its hook and ends its thread") {
  AddonCalls calls;
  const Napi::Object executor = calls.New("NativeExecutor", "portable", 2.0, false, false);
  calls.environment.Collect(executor);
  CHECK_FALSE(calls.environment.KeepsProcessAlive());
  calls.environment.RunCleanupHooks();
}

TEST_CASE("NativeExecutor that refuses an operation queues nothing") {
  ExecutorCalls<double> calls;
  const Napi::Object arguments = BriefProduct(calls);
  OperandsOf(arguments).Set(3u, calls.Array<double>({1, 2}));
  CHECK(ErrorOf([&] { calls.Call(calls.executor, "run", arguments); }) == kTransferred);
  CHECK(ElementsOf<double>(OperandsOf(arguments).Get(0u)) == std::vector<double>{0});
  calls.Run("run", BriefProduct(calls));
  CHECK(calls.Call(calls.executor, "completed", 1.0).ToBoolean().Value());
  CHECK_FALSE(calls.Call(calls.executor, "completed", 2.0).ToBoolean().Value());
}

TEST_CASE(
    "NativeExecutor rejects with ERR_OUT_OF_MEMORY where an operation finds no memory, and computes the next one") {
  ExecutorCalls<float> calls;
  // α and the emissions of a row take 16 bytes for each of T·(2S+1) states: 512 TB, more than there are addresses.
  constexpr size_t kMany = 4'000'000;
  const auto count = static_cast<double>(kMany);
  const Napi::Object arguments = calls.ObjectOf({{"time", calls.Value(count)},
                                                 {"batch", calls.Value(1.0)},
                                                 {"classes", calls.Value(1.0)},
                                                 {"maxLabels", calls.Value(count)},
                                                 {"logits", calls.Array(std::vector<float>(kMany))},
                                                 {"labels", calls.Array(std::vector<int32_t>(kMany))},
                                                 {"labelLengths", calls.Array<int32_t>({1})},
                                                 {"logitLengths", calls.Array<int32_t>({1})},
                                                 {"rowWeights", calls.Array<double>({1})},
                                                 {"blank", calls.Value(0.0)},
                                                 {"mergeRepeated", calls.Value(true)},
                                                 {"infeasible", calls.Value(0.0)},
                                                 {"rowLosses", calls.Array<float>({0})},
                                                 {"gradient", calls.Array(std::vector<float>(kMany))},
                                                 {"loss", calls.Array<float>({0})}});
  CHECK(ErrorOf([&] { calls.Run("ctcLoss", arguments); }) == "undefined ERR_OUT_OF_MEMORY");
  // Later awaits of the same operation fail with the same error.
  CHECK(ErrorOf([&] { calls.Settled(1); }) == "undefined ERR_OUT_OF_MEMORY");
  CHECK_FALSE(calls.environment.IsHeld(arguments));
  const Napi::Object x = calls.Array<float>({1});
  calls.Run("run", AddOne(calls, x, 1));
  CHECK(ElementsOf<float>(x) == std::vector<float>{2});
}

uintptr_t AddressOf(const Napi::Value& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.As<Napi::ArrayBuffer>().Data());
}

TEST_CASE("NativeExecutor::resultBuffer is aligned to a cache line and has the requested size") {
  const ExecutorCalls<float> calls;
  for (const double bytes : {1.0, 4.0, 100.0, 65536.0}) {
    const Napi::Value buffer = calls.Call(calls.executor, "resultBuffer", bytes);
    CHECK(buffer.As<Napi::ArrayBuffer>().ByteLength() == static_cast<size_t>(bytes));
    CHECK(AddressOf(buffer) % 64 == 0);
  }
  CHECK(calls.Call(calls.executor, "resultBuffer", 0.0).As<Napi::ArrayBuffer>().ByteLength() == 0);
}

TEST_CASE("NativeExecutor::resultBuffer lends the memory of a collected buffer to the next of its size") {
  ExecutorCalls<float> calls;
  const Napi::Value first = calls.Call(calls.executor, "resultBuffer", 4096.0);
  const Napi::Value second = calls.Call(calls.executor, "resultBuffer", 4096.0);
  CHECK(AddressOf(first) != AddressOf(second));
  const uintptr_t address = AddressOf(first);
  calls.environment.Collect(first);
  CHECK(AddressOf(calls.Call(calls.executor, "resultBuffer", 8192.0)) != address);
  CHECK(AddressOf(calls.Call(calls.executor, "resultBuffer", 4096.0)) == address);
}

TEST_CASE("NativeExecutor::resultBuffer outlives the executor") {
  ExecutorCalls<float> calls;
  const Napi::Value buffer = calls.Call(calls.executor, "resultBuffer", 64.0);
  calls.Call(calls.executor, "close");
  calls.environment.Collect(calls.executor);
  auto* bytes = static_cast<unsigned char*>(buffer.As<Napi::ArrayBuffer>().Data());
  for (int k = 0; k < 64; k++) bytes[k] = 7;
  CHECK(bytes[63] == 7);
  calls.environment.Collect(buffer);
}

TEST_CASE("NativeExecutor::resultBuffer is memory of the engine where that allows no other") {
  ExecutorCalls<float> calls;
  calls.environment.RefuseExternalBuffers();
  const Napi::Value buffer = calls.Call(calls.executor, "resultBuffer", 4096.0);
  CHECK(buffer.As<Napi::ArrayBuffer>().ByteLength() == 4096);
  const uintptr_t address = AddressOf(buffer);
  calls.environment.Collect(buffer);
  CHECK(AddressOf(calls.Call(calls.executor, "resultBuffer", 4096.0)) != address);
}

TEST_CASE("NativeExecutor::resultBuffer that is larger than the memory throws ERR_OUT_OF_MEMORY") {
  const ExecutorCalls<float> calls;
  CHECK(ErrorOf([&] { calls.Call(calls.executor, "resultBuffer", std::ldexp(1, 60)); }) ==
        "RangeError ERR_OUT_OF_MEMORY");
}

}  // namespace
}  // namespace cudnn_rnn
