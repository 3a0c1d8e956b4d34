// The promise of an operation of another thread, and the arrays that it works in: they must live until then.
#pragma once

#include "napi_setup.h"

#include <memory>
#include <vector>

#include "callbacks.h"

namespace cudnn_rnn {

// Freed on any thread, with its operation. References and promise of an operation that is dropped end with the
// environment.
struct Settlement {
  napi_deferred deferred = nullptr;
  std::vector<napi_ref> arrays;

  void Hold(const Napi::Value& array) {
    napi_ref reference = nullptr;
    napi_create_reference(array.Env(), array, 1, &reference);
    arrays.push_back(reference);
  }

  // The promise, which Settled() counts.
  template <typename Item>
  Napi::Value Promise(Napi::Env env, Completions<Item>& completions) {
    napi_value promise = nullptr;
    NAPI_THROW_IF_FAILED(env, napi_create_promise(env, &deferred, &promise), Napi::Value());
    completions.Begin();
    return {env, promise};
  }

  template <typename Item>
  void Settled(Napi::Env env, Completions<Item>& completions) {
    for (napi_ref array : arrays) napi_delete_reference(env, array);
    completions.Done();
  }

  void Resolve(Napi::Env env, napi_value value) const { napi_resolve_deferred(env, deferred, value); }
  void Reject(Napi::Env env, napi_value reason) const { napi_reject_deferred(env, deferred, reason); }
};

}  // namespace cudnn_rnn
