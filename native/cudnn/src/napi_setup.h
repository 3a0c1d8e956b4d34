#pragma once

// The only file that includes Node-API: how C++ objects are shown to JavaScript, and how arguments are read.

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "native_error.h"
#include "session.h"

namespace cudnn_rnn {

/// A session as JavaScript holds it.
struct SessionHandle {
  std::shared_ptr<Session> session;
  napi_env env = nullptr;
  napi_threadsafe_function settled = nullptr;
  /// Promises not settled: while there are some, they keep the event loop alive.
  int outstanding = 0;
  /// The promise of closeSession, while the session closes.
  napi_deferred closing = nullptr;
};

/// Tags tell our handles from each other and from anything else. No number may be used twice.
template <typename T>
struct TagOf;

#define HANDLE_TAG(type, number)                                                               \
  template <>                                                                                  \
  struct TagOf<type> {                                                                         \
    static constexpr napi_type_tag kTag = {0x637564'6e6e2d72ULL, 0x6e6e0000ULL + (number)};    \
    static constexpr const char* kName = #type;                                                \
  };

/// The error JavaScript gets: an Error with the fields of NativeError.
Napi::Error ErrorOf(Napi::Env env, const NativeError& error);

/// Shows a shared object as an opaque value; its finalizer, or Drop, lets go of it.
template <typename T>
Napi::Value Show(Napi::Env env, std::shared_ptr<T> object) {
  auto* holder = new std::shared_ptr<T>(std::move(object));
  auto external = Napi::External<std::shared_ptr<T>>::New(env, holder,
                                                          [](Napi::Env, std::shared_ptr<T>* held) { delete held; });
  napi_type_tag_object(env, external, &TagOf<T>::kTag);
  return external;
}

/// The holder behind an opaque value. Throws TypeError for anything else.
template <typename T>
std::shared_ptr<T>& Holder(const Napi::Value& value) {
  bool is_ours = false;
  if (value.IsExternal()) napi_check_object_type_tag(value.Env(), value, &TagOf<T>::kTag, &is_ours);
  if (!is_ours) throw Napi::TypeError::New(value.Env(), std::string("not a handle of ") + TagOf<T>::kName);
  return *value.As<Napi::External<std::shared_ptr<T>>>().Data();
}

/// What an opaque value shows. Throws TypeError once it was dropped.
template <typename T>
std::shared_ptr<T> Shown(const Napi::Value& value) {
  std::shared_ptr<T>& holder = Holder<T>(value);
  if (!holder) throw Napi::TypeError::New(value.Env(), std::string("a released handle of ") + TagOf<T>::kName);
  return holder;
}

HANDLE_TAG(Libraries, 1)
HANDLE_TAG(SessionHandle, 2)
HANDLE_TAG(DeviceBuffer, 3)

/// The bytes of a typed array at the moment of the call; over a SharedArrayBuffer too.
struct HostArray {
  Napi::Value value;
  char* data = nullptr;
  std::size_t bytes = 0;
};

/// Throws TypeError for anything but a typed array.
HostArray HostArrayOf(const Napi::Value& value);

/// Throws RangeError ERR_TENSOR_TRANSFERRED.
[[noreturn]] void ThrowBytes(Napi::Env env, std::size_t expected, std::size_t bytes);

/// Reads the arguments of one call from left to right. The first is always the session.
class Arguments {
 public:
  explicit Arguments(const Napi::CallbackInfo& info)
      : info_(info), handle_(Shown<SessionHandle>(info[0])), session_(*handle_->session) {}

  Napi::Env env() const { return info_.Env(); }
  const std::shared_ptr<SessionHandle>& handle() const { return handle_; }
  Session& session() const { return session_; }
  const Libraries& libraries() const { return session_.libraries(); }

  Napi::Value Next() { return info_[next_++]; }
  bool Boolean() { return Next().ToBoolean().Value(); }
  int Int() { return Next().ToNumber().Int32Value(); }
  std::int64_t Long() { return Next().ToNumber().Int64Value(); }
  std::size_t Size() { return static_cast<std::size_t>(Long()); }
  double Double() { return Next().ToNumber().DoubleValue(); }
  std::string Text() { return Next().ToString().Utf8Value(); }
  /// A typed array as it is now: JavaScript may have transferred or resized it since it was checked.
  HostArray Array() { return HostArrayOf(Next()); }

  template <typename T>
  std::shared_ptr<T> Object() {
    return Shown<T>(Next());
  }
  template <typename T>
  std::shared_ptr<T> OptionalObject() {
    const Napi::Value value = Next();
    return value.IsNull() || value.IsUndefined() ? nullptr : Shown<T>(value);
  }

  /// A buffer that the command reads, or writes (or both).
  BufferRef Read() { return Noted(Object<DeviceBuffer>(), session_.pending().reads); }
  BufferRef Write() { return Noted(Object<DeviceBuffer>(), session_.pending().writes); }
  BufferRef OptionalRead() { return Noted(OptionalObject<DeviceBuffer>(), session_.pending().reads); }
  BufferRef OptionalWrite() { return Noted(OptionalObject<DeviceBuffer>(), session_.pending().writes); }

  /// Appends a command to the batch under construction.
  void Enqueue(Command command) { session_.pending().commands.push_back(std::move(command)); }

 private:
  static BufferRef Noted(BufferRef buffer, std::vector<BufferRef>& list) {
    if (buffer) list.push_back(buffer);
    return buffer;
  }

  const Napi::CallbackInfo& info_;
  const std::shared_ptr<SessionHandle> handle_;
  Session& session_;
  std::size_t next_ = 1;
};

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
