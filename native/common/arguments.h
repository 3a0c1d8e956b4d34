// How JavaScript values become arguments. Shapes were checked in TypeScript; but JavaScript can transfer, resize or
// shrink an array between that check and its use, so its type and its number of elements are checked here, where its
// address is taken.
#pragma once

#include "napi_setup.h"

#include <cstddef>
#include <string>

namespace cudnn_rnn {

template <typename T>
inline constexpr napi_typedarray_type kArrayType = napi_uint8_array;
template <>
inline constexpr napi_typedarray_type kArrayType<float> = napi_float32_array;
template <>
inline constexpr napi_typedarray_type kArrayType<double> = napi_float64_array;
template <>
inline constexpr napi_typedarray_type kArrayType<int32_t> = napi_int32_array;

// Elements of a typed array, and how many there are now.
template <typename T>
struct ElementSpan {
  T* data = nullptr;
  ptrdiff_t count = 0;
};

// Throws an error of JavaScript with a code.
template <typename Error = Napi::Error>
[[noreturn]] void ThrowCoded(const Napi::Env& env, const char* code, const std::string& message) {
  Error error = Error::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  throw error;
}

// The elements of a typed array of T; none for null and undefined. The array must outlive their use.
template <typename T>
ElementSpan<T> Span(const Napi::Value& value) {
  napi_typedarray_type type;
  size_t count;
  void* data = nullptr;
  // The array first, and null only if it is none: every question to Node-API takes 20 to 40 ns, and a stream's step
  // of a small network about 1 µs.
  const napi_status status = napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr);
  if (status == napi_ok && type == kArrayType<T>) return {static_cast<T*>(data), static_cast<ptrdiff_t>(count)};
  if (value.IsNull() || value.IsUndefined()) return {};
  ThrowCoded<Napi::TypeError>(value.Env(), "ERR_DTYPE", "Cannot use this value as an array of the executor's dtype");
}

// Throws RangeError ERR_TENSOR_TRANSFERRED.
[[noreturn]] inline void ThrowCount(const Napi::Env& env, const char* name, ptrdiff_t expected, ptrdiff_t count) {
  ThrowCoded<Napi::RangeError>(env, "ERR_TENSOR_TRANSFERRED",
                               "Cannot use " + std::string(name) + " as it must have " + std::to_string(expected) +
                                   " elements: current number is " + std::to_string(count) +
                                   ". Its buffer was transferred or resized.");
}

// Throws RangeError ERR_OUT_OF_MEMORY.
[[noreturn]] inline void ThrowOutOfMemory(const Napi::Env& env, const char* action) {
  ThrowCoded<Napi::RangeError>(env, "ERR_OUT_OF_MEMORY",
                               "Cannot " + std::string(action) + " as this process can have no more memory");
}

// Like Span, of exactly `expected` elements; null for null and undefined.
template <typename T>
T* Elements(const Napi::Value& value, const char* name, ptrdiff_t expected) {
  const ElementSpan<T> span = Span<T>(value);
  if (span.count == expected) return span.data;
  if (value.IsNull() || value.IsUndefined()) return nullptr;
  ThrowCount(value.Env(), name, expected, span.count);
}

template <typename T>
T* Elements(const Napi::Object& object, const char* name, ptrdiff_t expected) {
  return Elements<T>(object.Get(name), name, expected);
}

// Like Elements, of an array that cannot be left out.
template <typename T>
T* Required(const Napi::Value& value, const char* name, ptrdiff_t expected) {
  T* data = Elements<T>(value, name, expected);
  if (data == nullptr && expected > 0) ThrowCount(value.Env(), name, expected, 0);
  return data;
}

template <typename T>
T* Required(const Napi::Object& object, const char* name, ptrdiff_t expected) {
  return Required<T>(object.Get(name), name, expected);
}

inline double Number(const Napi::Object& object, const char* name) { return object.Get(name).ToNumber().DoubleValue(); }

inline ptrdiff_t Size(const Napi::Object& object, const char* name) {
  return static_cast<ptrdiff_t>(Number(object, name));
}

inline bool Flag(const Napi::Object& object, const char* name) { return object.Get(name).ToBoolean().Value(); }

}  // namespace cudnn_rnn
