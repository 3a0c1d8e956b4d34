#pragma once

// Wraps C++ objects for JavaScript, and throws errors.

#include <memory>
#include <string>

#include "callbacks.h"
#include "device/session.h"
#include "napi_setup.h"
#include "settlement.h"
#include "sys/native_error.h"

namespace cudnn_rnn {

/// The areas of the addon; addon.cc registers them.
/// Each adds its functions to the exports of the addon.
void InitLibraries(Napi::Object exports);
void InitKernels(Napi::Object exports);
void InitSession(Napi::Object exports);
void InitNccl(Napi::Object exports);

/// A session as JavaScript holds it. The fields below `session` are used on JavaScript's thread only. Shared by the
/// External and by the settlements; the last of them frees it.
struct SessionHandle {
  std::shared_ptr<Session> session;
  /// Closed once the session has ended.
  Completions<Batch> settled;
  /// The promise of closeSession, while the session closes.
  std::unique_ptr<Settlement> closing;
};

/// Type tags distinguish the handles of this addon from each other and from other addons' externals. Each number is
/// used once.
template <typename T>
struct TagOf;

#define HANDLE_TAG(type, number)                                                            \
  template <>                                                                               \
  struct TagOf<type> {                                                                      \
    static constexpr napi_type_tag kTag = {0x637564'6e6e2d72ULL, 0x6e6e0000ULL + (number)}; \
    static constexpr const char* kName = #type;                                             \
  };

HANDLE_TAG(Libraries, 1)
HANDLE_TAG(SessionHandle, 2)

/// The error JavaScript gets: an Error with the fields of NativeError.
Napi::Error ErrorOf(Napi::Env env, const NativeError& error);

/// A shared object as an opaque value; its finalizer lets go of it.
template <typename T>
Napi::Value Wrap(Napi::Env env, std::shared_ptr<T> object) {
  auto* holder = new std::shared_ptr<T>(std::move(object));
  auto external =
      Napi::External<std::shared_ptr<T>>::New(env, holder, [](Napi::Env, std::shared_ptr<T>* held) { delete held; });
  napi_type_tag_object(env, external, &TagOf<T>::kTag);
  return external;
}

/// The object inside an opaque value. Throws TypeError for any other value.
template <typename T>
const std::shared_ptr<T>& Unwrap(const Napi::Value& value) {
  bool is_ours = false;
  if (value.IsExternal()) napi_check_object_type_tag(value.Env(), value, &TagOf<T>::kTag, &is_ours);
  if (!is_ours) throw Napi::TypeError::New(value.Env(), std::string("not a handle of ") + TagOf<T>::kName);
  return *value.As<Napi::External<std::shared_ptr<T>>>().Data();
}

/// Registers `function` under `name`, turning NativeError into a JavaScript error.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
void Export(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New(
                        exports.Env(),
                        [](const Napi::CallbackInfo& info) -> Napi::Value {
                          try {
                            return function(info);
                          } catch (const NativeError& error) {
                            throw ErrorOf(info.Env(), error);
                          }
                        },
                        name));
}

}  // namespace cudnn_rnn
