#include "napi_setup.h"

namespace cudnn_rnn {

Napi::Error ErrorOf(Napi::Env env, const NativeError& error) {
  Napi::Error result = Napi::Error::New(env, error.call + ": " + error.name);
  Napi::Object fields = result.Value();
  fields.Set("library", error.library);
  fields.Set("call", error.call);
  fields.Set("status", error.status);
  fields.Set("statusName", error.name);
  fields.Set("detail", error.detail);
  fields.Set("requestedBytes", error.requested_bytes);
  fields.Set("freeBytes", error.free_bytes);
  fields.Set("totalBytes", error.total_bytes);
  return result;
}

HostArray HostArrayOf(const Napi::Value& value) {
  napi_typedarray_type type;
  std::size_t count = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr) != napi_ok) {
    throw Napi::TypeError::New(value.Env(), "not a typed array");
  }
  const std::size_t bytes = count * Napi::TypedArray(value.Env(), value).ElementSize();
  return {value, static_cast<char*>(data), bytes};
}

void ThrowBytes(Napi::Env env, std::size_t expected, std::size_t bytes) {
  Napi::RangeError error = Napi::RangeError::New(
      env, "Cannot copy an array as it must have " + std::to_string(expected) + " bytes: current number is " +
               std::to_string(bytes) + ". Its buffer was transferred or resized.");
  error.Set("code", Napi::String::New(env, "ERR_TENSOR_TRANSFERRED"));
  throw error;
}

}  // namespace cudnn_rnn
