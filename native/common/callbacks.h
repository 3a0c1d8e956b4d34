// The callbacks that Node-API makes beside node-addon-api's, which guards its own. They are registered in this
// file alone (`npm run lint:cpp`): an exception that leaves a C callback ends the process.
#pragma once

#include "napi_setup.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace cudnn_rnn {

// Runs the body of a callback on JavaScript's thread. An exception becomes an uncaught one of JavaScript.
// If the thread ends, Node.js still makes the calls that wait, in an environment that runs no JavaScript: the body
// throws at its first use of it, napi_throw() has no effect, and the promises end with the thread.
template <typename Body>
void RunCallback(napi_env env, const Body& body) noexcept {
  try {
    body();
  } catch (const Napi::Error& error) {
    napi_value thrown = nullptr;
    if (napi_get_reference_value(env, error, &thrown) == napi_ok && thrown != nullptr) napi_throw(env, thrown);
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
}

// () => void, which calls a method of `object`. The caller keeps that alive as long as the function. node-addon-api
// reads the arguments, `this` and the object behind it in separate calls, which double the time of a brief step.
template <auto method, typename T>
Napi::Function BoundFunction(Napi::Env env, const char* name, T* object) {
  const auto call = [](napi_env on, napi_callback_info info) -> napi_value {
    void* data = nullptr;
    if (napi_get_cb_info(on, info, nullptr, nullptr, nullptr, &data) != napi_ok) return nullptr;
    RunCallback(on, [&] { (static_cast<T*>(data)->*method)(); });
    return nullptr;
  };
  napi_value function = nullptr;
  const napi_status status = napi_create_function(env, name, NAPI_AUTO_LENGTH, call, object, &function);
  NAPI_THROW_IF_FAILED(env, status, Napi::Function());
  return {env, function};
}

// An ArrayBuffer over memory of the addon, and what to do when it was collected.
inline napi_status LendArrayBuffer(napi_env env, void* data, size_t bytes, std::function<void()> give_back,
                                   napi_value* buffer) {
  auto held = std::make_unique<std::function<void()>>(std::move(give_back));
  const auto finalize = [](napi_env on, void*, void* hint) {
    const std::unique_ptr<std::function<void()>> run(static_cast<std::function<void()>*>(hint));
    RunCallback(on, *run);
  };
  const napi_status status = napi_create_external_arraybuffer(env, data, bytes, finalize, held.get(), buffer);
  // From here on the finalizer's.
  if (status == napi_ok) [[maybe_unused]]
    const auto* owned = held.release();
  return status;
}

// Reports of other threads to JavaScript's: each item is settled there. The members are for JavaScript's thread.
template <typename Item>
class Completions {
 public:
  using Settle = std::function<void(Napi::Env, std::unique_ptr<Item>)>;
  using Report = std::function<void(std::unique_ptr<Item>)>;

  Completions() = default;
  ~Completions() { Close(); }
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // `end` runs before the environment ends, unless these are closed by then, and joins the threads that report. The
  // ends of several run last to first.
  void Open(napi_env env, const char* name, Settle settle, std::function<void()> end) {
    auto context = std::make_unique<Settle>(std::move(settle));
    const auto release = [](napi_env, void*, void* held) { delete static_cast<Settle*>(held); };
    const auto call = [](napi_env on, napi_value, void* held, void* data) {
      std::unique_ptr<Item> item(static_cast<Item*>(data));
      // Null if Node.js drops the calls that wait. Their promises end with the environment.
      if (on == nullptr) return;
      RunCallback(on, [&] { (*static_cast<Settle*>(held))(on, std::move(item)); });
    };
    // 0: the queue has no limit, so that no thread ever waits for JavaScript.
    const napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, name), 0,
                                                               1, nullptr, release, context.get(), call, &function_);
    if (status != napi_ok)
      throw Napi::Error::New(env, "Cannot notify the JavaScript thread as Node.js refused a thread-safe function");
    [[maybe_unused]] const auto* owned = context.release();
    env_ = env;
    end_ = std::move(end);
    // An idle executor does not keep the process alive; promises do.
    napi_unref_threadsafe_function(env, function_);
    napi_add_env_cleanup_hook(env_, RunEnd, this);
  }

  bool is_open() const { return function_ != nullptr; }

  // For the threads that are joined before Close(). An item that the environment no longer takes is freed.
  Report Reporter() const {
    return [function = function_](std::unique_ptr<Item> item) {
      Item* const raw = item.release();
      if (napi_call_threadsafe_function(function, raw, napi_tsfn_nonblocking) != napi_ok) item.reset(raw);
    };
  }

  // One promise more, and one less, that keeps the event loop alive.
  void Begin() {
    if (outstanding_++ == 0) napi_ref_threadsafe_function(env_, function_);
  }
  void Done() {
    if (--outstanding_ == 0 && is_open()) napi_unref_threadsafe_function(env_, function_);
  }
  size_t outstanding() const { return outstanding_; }

  // Makes the end of these the first to run.
  void EndFirst() {
    napi_remove_env_cleanup_hook(env_, RunEnd, this);
    napi_add_env_cleanup_hook(env_, RunEnd, this);
  }

  // Drops the reports that wait. Idempotent.
  void Close() {
    if (!is_open()) return;
    napi_remove_env_cleanup_hook(env_, RunEnd, this);
    napi_release_threadsafe_function(std::exchange(function_, nullptr), napi_tsfn_abort);
  }

 private:
  static void RunEnd(void* data) {
    auto* self = static_cast<Completions*>(data);
    RunCallback(self->env_, [&] {
      self->end_();
      self->Close();
    });
  }

  napi_env env_ = nullptr;
  // Null before Open() and after Close().
  napi_threadsafe_function function_ = nullptr;
  std::function<void()> end_;
  size_t outstanding_ = 0;
};

}  // namespace cudnn_rnn
