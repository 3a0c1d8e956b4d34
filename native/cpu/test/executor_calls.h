// An executor, behind the addon's binding.
#pragma once

#include <string>

#include "addon_calls.h"

namespace cudnn_rnn {

inline constexpr const char* kTransferred = "RangeError ERR_TENSOR_TRANSFERRED";
inline constexpr const char* kDtype = "TypeError ERR_DTYPE";

// With the portable kernels: the bindings read the same arguments for all.
template <typename T>
class ExecutorCalls : public AddonCalls {
 public:
  explicit ExecutorCalls(int threads = 1)
      : executor(New("NativeExecutor", "portable", static_cast<double>(threads), sizeof(T) == sizeof(double), false)) {}

  const Napi::Object executor;

  // Queues an operation and waits until it is done. Its error arrives as from JavaScript's await.
  void Run(const char* operation, const Napi::Object& arguments) {
    Settled(Call(executor, operation, Napi::Value(arguments)).ToNumber().DoubleValue());
  }

  // Awaits done(number).
  void Settled(double number) {
    using in_process_node_api::PromiseState;
    const Napi::Value promise = Call(executor, "done", number);
    environment.Await([&] { return environment.StateOf(promise) != PromiseState::kPending; });
    if (environment.StateOf(promise) == PromiseState::kRejected) {
      throw Napi::Error(env, environment.ResultOf(promise));
    }
  }
};

}  // namespace cudnn_rnn
