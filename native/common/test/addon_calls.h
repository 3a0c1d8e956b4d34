// Calls of an addon from a test, over in_process_node_api.h, as JavaScript would make them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "in_process_node_api.h"
#include "napi_setup.h"

namespace cudnn_rnn {

template <typename T>
inline constexpr napi_typedarray_type kTypeOfArray = napi_float32_array;
template <>
inline constexpr napi_typedarray_type kTypeOfArray<double> = napi_float64_array;
template <>
inline constexpr napi_typedarray_type kTypeOfArray<int32_t> = napi_int32_array;
template <>
inline constexpr napi_typedarray_type kTypeOfArray<uint8_t> = napi_uint8_array;

// The addon in an environment that ends with this object.
class AddonCalls {
 public:
  AddonCalls() : env(environment.env()), exports(env, environment.LoadAddon()) {}

  in_process_node_api::Environment environment;
  const Napi::Env env;
  const Napi::Object exports;

  Napi::Value Value(double number) const { return Napi::Number::New(env, number); }
  Napi::Value Value(bool flag) const { return Napi::Boolean::New(env, flag); }
  Napi::Value Value(const char* text) const { return Napi::String::New(env, text); }
  Napi::Value Value(std::nullptr_t) const { return env.Null(); }
  Napi::Value Value(Napi::Value value) const { return value; }
  template <typename T>
  Napi::Value Value(const std::vector<T>& elements) const {
    return Array<T>(elements);
  }

  // A typed array over a new buffer.
  template <typename T>
  Napi::Object Array(const std::vector<T>& elements) const {
    auto array = Napi::TypedArrayOf<T>::New(env, elements.size(), kTypeOfArray<T>);
    std::copy(elements.begin(), elements.end(), array.Data());
    return array;
  }

  // new exports[name](…arguments)
  template <typename... Arguments>
  Napi::Object New(const char* name, const Arguments&... arguments) const {
    return exports.Get(name).template As<Napi::Function>().New({Value(arguments)...});
  }

  // object[name](…arguments)
  template <typename... Arguments>
  Napi::Value Call(const Napi::Object& object, const char* name, const Arguments&... arguments) const {
    return object.Get(name).template As<Napi::Function>().Call(object, {Value(arguments)...});
  }

  Napi::Object ObjectOf(std::initializer_list<std::pair<const char*, Napi::Value>> properties) const {
    Napi::Object object = Napi::Object::New(env);
    for (const auto& [name, value] : properties) object.Set(name, value);
    return object;
  }
};

// The elements of a typed array now.
template <typename T>
std::vector<T> ElementsOf(const Napi::Value& array) {
  const auto typed = array.As<Napi::TypedArrayOf<T>>();
  return std::vector<T>(typed.Data(), typed.Data() + typed.ElementLength());
}

template <typename T>
std::vector<T> ElementsOf(const Napi::Object& object, const char* name) {
  return ElementsOf<T>(object.Get(name));
}

// Takes the memory of an array's buffer away, as postMessage() with a transfer list does.
inline void Transfer(const Napi::Object& array) { array.As<Napi::TypedArray>().ArrayBuffer().Detach(); }

// "name code" of the exception that `call` throws; "" if it throws none.
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const Napi::Error& error) {
    return error.Get("name").ToString().Utf8Value() + " " + error.Get("code").ToString().Utf8Value();
  }
  return "";
}

// Its message.
template <typename Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const Napi::Error& error) {
    return error.Message();
  }
  return "";
}

}  // namespace cudnn_rnn
