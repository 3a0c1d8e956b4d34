// How JavaScript values become arguments. Shapes were checked in TypeScript; here a wrong kind only must not crash.
#ifndef CUDNN_RNN_CPU_ARGUMENTS_H_
#define CUDNN_RNN_CPU_ARGUMENTS_H_

#include <napi.h>

#include <cstddef>

namespace cudnn_rnn {

template <typename T>
inline constexpr napi_typedarray_type kArrayType = napi_uint8_array;
template <>
inline constexpr napi_typedarray_type kArrayType<float> = napi_float32_array;
template <>
inline constexpr napi_typedarray_type kArrayType<double> = napi_float64_array;
template <>
inline constexpr napi_typedarray_type kArrayType<int32_t> = napi_int32_array;

// The elements of a typed array of T; null for null and undefined. The array must outlive their use.
template <typename T>
T* Elements(const Napi::Value& value, size_t* length = nullptr) {
  if (value.IsNull() || value.IsUndefined()) return nullptr;
  napi_typedarray_type type;
  size_t count;
  void* data = nullptr;
  const napi_status status = napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr);
  if (status != napi_ok || type != kArrayType<T>) {
    throw Napi::TypeError::New(value.Env(), "Cannot use this value as an array of the executor's dtype");
  }
  if (length != nullptr) *length = count;
  return static_cast<T*>(data);
}

template <typename T>
T* Elements(const Napi::Object& object, const char* name) {
  return Elements<T>(object.Get(name));
}

inline double Number(const Napi::Object& object, const char* name) {
  return object.Get(name).ToNumber().DoubleValue();
}

inline bool Flag(const Napi::Object& object, const char* name) { return object.Get(name).ToBoolean().Value(); }

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_ARGUMENTS_H_
