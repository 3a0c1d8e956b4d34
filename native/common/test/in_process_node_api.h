// Node-API over plain C++ values, so that the bindings of an addon run in a C++ test, without Node.js and under any
// sanitizer. A test calls the addon as JavaScript would, by way of node-addon-api:
//
//   in_process_node_api::Environment environment;
//   const Napi::Object addon(environment.env(), environment.LoadAddon());
//   addon.Get("NativeNetwork").As<Napi::Function>().New({descriptor, float64});
//
// An exception of the addon arrives as Napi::Error. It has the functions that the addons and their tests call, and what
// these read of the language: objects with prototypes, arrays, functions, classes, typed arrays, promises without
// reactions, errors. Differences from Node.js: nothing is collected before Collect() or the end of the environment, and
// calls of thread-safe functions run in Await() only.
#pragma once

#include <node_api.h>

#include <functional>
#include <memory>

namespace in_process_node_api {

enum class PromiseState { kPending, kFulfilled, kRejected };

// One environment: a Node.js process or a worker thread. Its thread is the one that made it.
class Environment {
 public:
  Environment();
  // Runs the cleanup hooks, then every finalizer.
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  napi_env env() const { return env_.get(); }

  // The exports of the addon that the test is linked with.
  napi_value LoadAddon();

  // Runs the calls of thread-safe functions as they arrive, until `done` is true before or after one.
  void Await(const std::function<bool()>& done);

  PromiseState StateOf(napi_value promise) const;
  // The value or the reason of a settled promise; null while it is pending.
  napi_value ResultOf(napi_value promise) const;

  // Whether a strong reference holds the value, or an object that has it as a property or an element.
  bool IsHeld(napi_value value) const;

  // Runs the finalizers of a value, as the garbage collector does some time after it was last reached.
  void Collect(napi_value value);

  // Whether a thread-safe function would keep the event loop alive.
  bool KeepsProcessAlive() const;

  // Runs the cleanup hooks, the last one first: Node.js does at the end of a worker thread, with objects still alive.
  void RunCleanupHooks();

  // From here on promises cannot be settled and nothing can be thrown: Node.js ends a thread so, and still runs the
  // calls of thread-safe functions.
  void EndJavaScript();

  // Refuses ArrayBuffers over an addon's memory, like a V8 with pointer compression.
  void RefuseExternalBuffers();
  // Refuses thread-safe functions.
  void RefuseThreadsafeFunctions();

 private:
  std::unique_ptr<napi_env__> env_;
};

}  // namespace in_process_node_api
