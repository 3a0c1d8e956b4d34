#include "in_process_node_api.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using in_process_node_api::PromiseState;

namespace {

// A callback of the addon that is called once, when its value is collected.
struct Finalizer {
  node_api_basic_finalize run;
  void* data;
  void* hint;
};

}  // namespace

// A value of JavaScript. The handle that the addon holds is its address.
struct napi_value__ {
  napi_valuetype type = napi_undefined;
  bool boolean = false;
  double number = 0;
  std::string string;

  // Objects and functions.
  std::map<std::string, napi_value> properties;
  napi_value prototype = nullptr;
  std::vector<Finalizer> finalizers;
  void* wrapped = nullptr;
  bool is_error = false;

  bool is_array = false;
  std::vector<napi_value> elements;

  napi_callback callback = nullptr;
  void* data = nullptr;  // of a function, or of an external value

  bool is_promise = false;
  PromiseState state = PromiseState::kPending;
  napi_value result = nullptr;

  // ArrayBuffers; `owned` unless the addon gave the memory.
  bool is_buffer = false;
  std::unique_ptr<char[]> owned;
  char* bytes = nullptr;
  size_t byte_length = 0;

  // Typed arrays.
  napi_value buffer = nullptr;
  napi_typedarray_type array_type = napi_uint8_array;
  size_t length = 0;
  size_t byte_offset = 0;
};

struct napi_ref__ {
  napi_value value;
  uint32_t count;
};

// The promise is null once it is settled.
struct napi_deferred__ {
  napi_value promise;
};

struct napi_callback_info__ {
  napi_value receiver;
  napi_value new_target;
  std::vector<napi_value> arguments;
  void* data;
};

struct napi_threadsafe_function__ {
  napi_env env;
  void* context;
  napi_threadsafe_function_call_js call;
  napi_finalize finalize;
  bool is_referenced = true;
  bool is_closing = false;
};

struct napi_env__ {
  // All values of the environment; freed at its end.
  std::deque<napi_value__> values;
  std::vector<std::unique_ptr<napi_ref__>> references;
  std::vector<std::pair<napi_cleanup_hook, void*>> hooks;
  napi_value exception = nullptr;
  napi_extended_error_info last_error{};
  std::string last_message;
  // Unsettled promises are freed with their environment, as in Node.js.
  std::deque<napi_deferred__> deferred;
  bool refuses_external_buffers = false;
  bool refuses_threadsafe_functions = false;
  bool runs_javascript = true;

  // Guards the members that other threads use: the calls of thread-safe functions, and whether these are closing.
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<napi_threadsafe_function__> threadsafe;
  std::deque<std::pair<napi_threadsafe_function, void*>> calls;
};

namespace {

napi_value Make(napi_env env, napi_valuetype type) {
  napi_value value = &env->values.emplace_back();
  value->type = type;
  return value;
}

napi_value MakeString(napi_env env, std::string text) {
  napi_value value = Make(env, napi_string);
  value->string = std::move(text);
  return value;
}

// The status that a function returns, kept for napi_get_last_error_info.
napi_status Done(napi_env env, napi_status status, const char* message = "") {
  env->last_message = message;
  env->last_error = {env->last_message.c_str(), nullptr, 0, status};
  return status;
}

bool IsObject(napi_value value) {
  return value != nullptr && (value->type == napi_object || value->type == napi_function);
}

// The own property of an object or of its prototypes; null for none.
napi_value Find(napi_value object, const std::string& name) {
  for (napi_value each = object; each != nullptr; each = each->prototype) {
    const auto found = each->properties.find(name);
    if (found != each->properties.end()) return found->second;
  }
  return nullptr;
}

std::string TextOf(napi_value value) {
  switch (value->type) {
    case napi_string:
      return value->string;
    case napi_number: {
      std::string text = std::to_string(value->number);
      if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') text.pop_back();
      return text;
    }
    case napi_boolean:
      return value->boolean ? "true" : "false";
    case napi_null:
      return "null";
    case napi_undefined:
      return "undefined";
    default:
      return "[object Object]";
  }
}

double NumberOf(napi_value value) {
  switch (value->type) {
    case napi_number:
      return value->number;
    case napi_boolean:
      return value->boolean ? 1 : 0;
    case napi_null:
      return 0;
    case napi_string:
      return value->string.empty() ? 0 : std::strtod(value->string.c_str(), nullptr);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool BooleanOf(napi_value value) {
  switch (value->type) {
    case napi_undefined:
    case napi_null:
      return false;
    case napi_boolean:
      return value->boolean;
    case napi_number:
      return value->number != 0 && !std::isnan(value->number);
    case napi_string:
      return !value->string.empty();
    default:
      return true;
  }
}

size_t BytesPerElement(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return 1;
    case napi_int16_array:
    case napi_uint16_array:
      return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array:
      return 4;
    default:
      return 8;
  }
}

void Finalize(napi_env env, napi_value value) {
  value->wrapped = nullptr;
  for (const Finalizer& each : std::exchange(value->finalizers, {})) each.run(env, each.data, each.hint);
}

napi_status MakeError(napi_env env, napi_value code, napi_value message, napi_value* result) {
  if (message == nullptr || message->type != napi_string)
    return Done(env, napi_string_expected, "A string was expected");
  *result = Make(env, napi_object);
  (*result)->is_error = true;
  (*result)->properties["message"] = message;
  if (code != nullptr) (*result)->properties["code"] = code;
  return Done(env, napi_ok);
}

// Calls a function of the addon. Its result, or undefined.
napi_status Invoke(napi_env env, napi_value function, napi_callback_info__* info, napi_value* result) {
  if (env->exception != nullptr) return Done(env, napi_pending_exception, "An exception is pending");
  if (function == nullptr || function->callback == nullptr) {
    return Done(env, napi_function_expected, "A function was expected");
  }
  info->data = function->data;
  const napi_value returned = function->callback(env, info);
  if (env->exception != nullptr) return Done(env, napi_pending_exception, "An exception is pending");
  if (result != nullptr) *result = returned == nullptr ? Make(env, napi_undefined) : returned;
  return Done(env, napi_ok);
}

void Define(napi_env env, napi_value object, const napi_property_descriptor& property) {
  napi_value value = property.value;
  if (property.method != nullptr) {
    value = Make(env, napi_function);
    value->callback = property.method;
    value->data = property.data;
  }
  object->properties[property.utf8name == nullptr ? property.name->string : property.utf8name] = value;
}

napi_status Settle(napi_env env, napi_deferred deferred, PromiseState state, napi_value result) {
  if (!env->runs_javascript) return Done(env, napi_pending_exception, "JavaScript has ended");
  if (deferred->promise == nullptr) return Done(env, napi_invalid_arg, "Invalid argument");
  deferred->promise->state = state;
  deferred->promise->result = result;
  deferred->promise = nullptr;
  return Done(env, napi_ok);
}

}  // namespace

// The C interface, in the order of Node.js's documentation: https://nodejs.org/api/n-api.html
extern "C" {

napi_status napi_get_last_error_info(node_api_basic_env env, const napi_extended_error_info** result) {
  *result = &env->last_error;
  return napi_ok;
}

napi_status napi_throw(napi_env env, napi_value error) {
  if (!env->runs_javascript) return Done(env, napi_pending_exception, "JavaScript has ended");
  env->exception = error;
  return Done(env, napi_ok);
}

napi_status napi_throw_error(napi_env env, const char*, const char* message) {
  napi_value error = MakeString(env, message);
  error->is_error = true;
  return napi_throw(env, error);
}

napi_status napi_create_error(napi_env env, napi_value code, napi_value message, napi_value* result) {
  return MakeError(env, code, message, result);
}

napi_status napi_create_type_error(napi_env env, napi_value code, napi_value message, napi_value* result) {
  const napi_status status = MakeError(env, code, message, result);
  if (status == napi_ok) (*result)->properties["name"] = MakeString(env, "TypeError");
  return status;
}

napi_status napi_create_range_error(napi_env env, napi_value code, napi_value message, napi_value* result) {
  const napi_status status = MakeError(env, code, message, result);
  if (status == napi_ok) (*result)->properties["name"] = MakeString(env, "RangeError");
  return status;
}

napi_status napi_get_and_clear_last_exception(napi_env env, napi_value* result) {
  *result = env->exception == nullptr ? Make(env, napi_undefined) : std::exchange(env->exception, nullptr);
  return Done(env, napi_ok);
}

napi_status napi_is_exception_pending(napi_env env, bool* result) {
  *result = env->exception != nullptr;
  return napi_ok;
}

[[noreturn]] void napi_fatal_error(const char* location, size_t, const char* message, size_t) {
  std::fprintf(stderr, "%s: %s\n", location == nullptr ? "Node-API" : location, message == nullptr ? "" : message);
  std::abort();
}

// Values live as long as their environment, so a scope has nothing to close.
napi_status napi_open_handle_scope(napi_env env, napi_handle_scope* result) {
  *result = reinterpret_cast<napi_handle_scope>(env);
  return napi_ok;
}

napi_status napi_close_handle_scope(napi_env, napi_handle_scope) { return napi_ok; }

napi_status napi_open_escapable_handle_scope(napi_env env, napi_escapable_handle_scope* result) {
  *result = reinterpret_cast<napi_escapable_handle_scope>(env);
  return napi_ok;
}

napi_status napi_close_escapable_handle_scope(napi_env, napi_escapable_handle_scope) { return napi_ok; }

napi_status napi_escape_handle(napi_env, napi_escapable_handle_scope, napi_value escapee, napi_value* result) {
  *result = escapee;
  return napi_ok;
}

napi_status napi_create_reference(napi_env env, napi_value value, uint32_t count, napi_ref* result) {
  *result = env->references.emplace_back(new napi_ref__{value, count}).get();
  return Done(env, napi_ok);
}

napi_status napi_delete_reference(node_api_basic_env env, napi_ref reference) {
  std::erase_if(env->references, [&](const auto& each) { return each.get() == reference; });
  return napi_ok;
}

napi_status napi_get_reference_value(napi_env env, napi_ref reference, napi_value* result) {
  *result = reference->value;
  return Done(env, napi_ok);
}

napi_status napi_add_env_cleanup_hook(node_api_basic_env env, napi_cleanup_hook hook, void* argument) {
  env->hooks.emplace_back(hook, argument);
  return napi_ok;
}

napi_status napi_remove_env_cleanup_hook(node_api_basic_env env, napi_cleanup_hook hook, void* argument) {
  std::erase(env->hooks, std::pair{hook, argument});
  return napi_ok;
}

napi_status napi_create_array(napi_env env, napi_value* result) {
  return napi_create_array_with_length(env, 0, result);
}

napi_status napi_create_array_with_length(napi_env env, size_t length, napi_value* result) {
  *result = Make(env, napi_object);
  (*result)->is_array = true;
  (*result)->elements.resize(length);
  return Done(env, napi_ok);
}

napi_status napi_create_object(napi_env env, napi_value* result) {
  *result = Make(env, napi_object);
  return Done(env, napi_ok);
}

napi_status napi_create_double(napi_env env, double value, napi_value* result) {
  *result = Make(env, napi_number);
  (*result)->number = value;
  return Done(env, napi_ok);
}

napi_status napi_create_string_utf8(napi_env env, const char* text, size_t length, napi_value* result) {
  *result = MakeString(env, length == NAPI_AUTO_LENGTH ? std::string(text) : std::string(text, length));
  return Done(env, napi_ok);
}

// Takes ASCII text only, for which both encodings agree.
napi_status napi_create_string_latin1(napi_env env, const char* text, size_t length, napi_value* result) {
  return napi_create_string_utf8(env, text, length, result);
}

napi_status napi_create_external(napi_env env, void* data, node_api_basic_finalize finalize, void* hint,
                                 napi_value* result) {
  *result = Make(env, napi_external);
  (*result)->data = data;
  if (finalize != nullptr) (*result)->finalizers.push_back({finalize, data, hint});
  return Done(env, napi_ok);
}

napi_status napi_create_arraybuffer(napi_env env, size_t bytes, void** data, napi_value* result) {
  *result = Make(env, napi_object);
  (*result)->is_buffer = true;
  (*result)->owned = std::make_unique<char[]>(bytes);
  (*result)->bytes = (*result)->owned.get();
  (*result)->byte_length = bytes;
  if (data != nullptr) *data = (*result)->bytes;
  return Done(env, napi_ok);
}

napi_status napi_create_external_arraybuffer(napi_env env, void* data, size_t bytes, node_api_basic_finalize finalize,
                                             void* hint, napi_value* result) {
  if (env->refuses_external_buffers) {
    return Done(env, napi_no_external_buffers_allowed, "External buffers are not allowed");
  }
  *result = Make(env, napi_object);
  (*result)->is_buffer = true;
  (*result)->bytes = static_cast<char*>(data);
  (*result)->byte_length = bytes;
  (*result)->finalizers.push_back({finalize, data, hint});
  return Done(env, napi_ok);
}

napi_status napi_detach_arraybuffer(napi_env env, napi_value buffer) {
  if (buffer == nullptr || !buffer->is_buffer)
    return Done(env, napi_arraybuffer_expected, "An ArrayBuffer was expected");
  buffer->bytes = nullptr;
  buffer->byte_length = 0;
  return Done(env, napi_ok);
}

napi_status napi_get_arraybuffer_info(napi_env env, napi_value buffer, void** data, size_t* bytes) {
  if (buffer == nullptr || !buffer->is_buffer) return Done(env, napi_invalid_arg, "Invalid argument");
  if (data != nullptr) *data = buffer->bytes;
  if (bytes != nullptr) *bytes = buffer->byte_length;
  return Done(env, napi_ok);
}

napi_status napi_create_typedarray(napi_env env, napi_typedarray_type type, size_t length, napi_value buffer,
                                   size_t byte_offset, napi_value* result) {
  if (byte_offset + length * BytesPerElement(type) > buffer->byte_length) {
    return Done(env, napi_invalid_arg, "Invalid typed array length");
  }
  *result = Make(env, napi_object);
  (*result)->buffer = buffer;
  (*result)->array_type = type;
  (*result)->length = length;
  (*result)->byte_offset = byte_offset;
  return Done(env, napi_ok);
}

napi_status napi_is_typedarray(napi_env env, napi_value value, bool* result) {
  *result = value->buffer != nullptr;
  return Done(env, napi_ok);
}

// Elements that the buffer lost, as its memory was transferred, are none.
napi_status napi_get_typedarray_info(napi_env env, napi_value array, napi_typedarray_type* type, size_t* length,
                                     void** data, napi_value* buffer, size_t* byte_offset) {
  if (array == nullptr || array->buffer == nullptr) return Done(env, napi_invalid_arg, "Invalid argument");
  const bool is_detached = array->buffer->bytes == nullptr;
  if (type != nullptr) *type = array->array_type;
  if (length != nullptr) *length = is_detached ? 0 : array->length;
  if (data != nullptr) *data = is_detached ? nullptr : array->buffer->bytes + array->byte_offset;
  if (buffer != nullptr) *buffer = array->buffer;
  if (byte_offset != nullptr) *byte_offset = array->byte_offset;
  return Done(env, napi_ok);
}

napi_status napi_get_array_length(napi_env env, napi_value array, uint32_t* result) {
  if (array == nullptr || !array->is_array) return Done(env, napi_array_expected, "An array was expected");
  *result = static_cast<uint32_t>(array->elements.size());
  return Done(env, napi_ok);
}

napi_status napi_is_array(napi_env env, napi_value value, bool* result) {
  *result = value->is_array;
  return Done(env, napi_ok);
}

napi_status napi_get_value_double(napi_env env, napi_value value, double* result) {
  if (value == nullptr || value->type != napi_number) return Done(env, napi_number_expected, "A number was expected");
  *result = value->number;
  return Done(env, napi_ok);
}

// Not finite: 0. Beyond the range: its end.
napi_status napi_get_value_int64(napi_env env, napi_value value, int64_t* result) {
  double number;
  const napi_status status = napi_get_value_double(env, value, &number);
  if (status != napi_ok) return status;
  constexpr double kEnd = 9223372036854775808.0;
  *result = !std::isfinite(number) ? 0
            : number >= kEnd       ? INT64_MAX
            : number < -kEnd       ? INT64_MIN
                                   : static_cast<int64_t>(number);
  return napi_ok;
}

// The low 32 bits of the integer part.
napi_status napi_get_value_int32(napi_env env, napi_value value, int32_t* result) {
  int64_t whole;
  const napi_status status = napi_get_value_int64(env, value, &whole);
  if (status == napi_ok) *result = static_cast<int32_t>(whole);
  return status;
}

napi_status napi_get_value_uint32(napi_env env, napi_value value, uint32_t* result) {
  int64_t whole;
  const napi_status status = napi_get_value_int64(env, value, &whole);
  if (status == napi_ok) *result = static_cast<uint32_t>(whole);
  return status;
}

napi_status napi_get_value_bool(napi_env env, napi_value value, bool* result) {
  if (value == nullptr || value->type != napi_boolean)
    return Done(env, napi_boolean_expected, "A boolean was expected");
  *result = value->boolean;
  return Done(env, napi_ok);
}

napi_status napi_get_value_external(napi_env env, napi_value value, void** result) {
  if (value == nullptr || value->type != napi_external) return Done(env, napi_invalid_arg, "Invalid argument");
  *result = value->data;
  return Done(env, napi_ok);
}

napi_status napi_get_value_string_utf8(napi_env env, napi_value value, char* text, size_t size, size_t* result) {
  if (value == nullptr || value->type != napi_string) return Done(env, napi_string_expected, "A string was expected");
  if (text == nullptr) {
    *result = value->string.size();
  } else if (size > 0) {
    const size_t copied = value->string.copy(text, size - 1);
    text[copied] = '\0';
    if (result != nullptr) *result = copied;
  }
  return Done(env, napi_ok);
}

napi_status napi_get_undefined(napi_env env, napi_value* result) {
  *result = Make(env, napi_undefined);
  return napi_ok;
}

napi_status napi_get_null(napi_env env, napi_value* result) {
  *result = Make(env, napi_null);
  return napi_ok;
}

napi_status napi_get_boolean(napi_env env, bool value, napi_value* result) {
  *result = Make(env, napi_boolean);
  (*result)->boolean = value;
  return napi_ok;
}

napi_status napi_coerce_to_bool(napi_env env, napi_value value, napi_value* result) {
  return napi_get_boolean(env, BooleanOf(value), result);
}

napi_status napi_coerce_to_number(napi_env env, napi_value value, napi_value* result) {
  return napi_create_double(env, NumberOf(value), result);
}

napi_status napi_coerce_to_string(napi_env env, napi_value value, napi_value* result) {
  *result = MakeString(env, TextOf(value));
  return Done(env, napi_ok);
}

napi_status napi_typeof(napi_env env, napi_value value, napi_valuetype* result) {
  if (value == nullptr) return Done(env, napi_invalid_arg, "Invalid argument");
  *result = value->type;
  return Done(env, napi_ok);
}

napi_status napi_strict_equals(napi_env env, napi_value left, napi_value right, bool* result) {
  const bool is_alike = left->type == right->type && !IsObject(left) && left->type != napi_external;
  if (left->type == napi_number && is_alike) {
    *result = left->number == right->number;
  } else {
    *result = left == right || (is_alike && TextOf(left) == TextOf(right));
  }
  return Done(env, napi_ok);
}

napi_status napi_set_named_property(napi_env env, napi_value object, const char* name, napi_value value) {
  if (!IsObject(object)) return Done(env, napi_object_expected, "An object was expected");
  object->properties[name] = value;
  return Done(env, napi_ok);
}

napi_status napi_get_named_property(napi_env env, napi_value object, const char* name, napi_value* result) {
  if (!IsObject(object)) return Done(env, napi_object_expected, "An object was expected");
  const napi_value found = Find(object, name);
  *result = found == nullptr ? Make(env, napi_undefined) : found;
  return Done(env, napi_ok);
}

napi_status napi_has_named_property(napi_env env, napi_value object, const char* name, bool* result) {
  if (!IsObject(object)) return Done(env, napi_object_expected, "An object was expected");
  *result = Find(object, name) != nullptr;
  return Done(env, napi_ok);
}

napi_status napi_get_property(napi_env env, napi_value object, napi_value key, napi_value* result) {
  return napi_get_named_property(env, object, TextOf(key).c_str(), result);
}

napi_status napi_has_property(napi_env env, napi_value object, napi_value key, bool* result) {
  return napi_has_named_property(env, object, TextOf(key).c_str(), result);
}

napi_status napi_set_element(napi_env env, napi_value array, uint32_t index, napi_value value) {
  if (array == nullptr || !array->is_array) return Done(env, napi_array_expected, "An array was expected");
  if (array->elements.size() <= index) array->elements.resize(index + 1);
  array->elements[index] = value;
  return Done(env, napi_ok);
}

napi_status napi_get_element(napi_env env, napi_value array, uint32_t index, napi_value* result) {
  if (!IsObject(array)) return Done(env, napi_object_expected, "An object was expected");
  const bool is_present = index < array->elements.size() && array->elements[index] != nullptr;
  *result = is_present ? array->elements[index] : Make(env, napi_undefined);
  return Done(env, napi_ok);
}

napi_status napi_define_properties(napi_env env, napi_value object, size_t count,
                                   const napi_property_descriptor* properties) {
  for (size_t k = 0; k < count; k++) Define(env, object, properties[k]);
  return Done(env, napi_ok);
}

napi_status napi_call_function(napi_env env, napi_value receiver, napi_value function, size_t count,
                               const napi_value* arguments, napi_value* result) {
  napi_callback_info__ info{receiver, nullptr, std::vector<napi_value>(arguments, arguments + count), nullptr};
  return Invoke(env, function, &info, result);
}

napi_status napi_create_function(napi_env env, const char*, size_t, napi_callback callback, void* data,
                                 napi_value* result) {
  *result = Make(env, napi_function);
  (*result)->callback = callback;
  (*result)->data = data;
  return Done(env, napi_ok);
}

napi_status napi_get_cb_info(napi_env env, napi_callback_info info, size_t* count, napi_value* arguments,
                             napi_value* receiver, void** data) {
  if (arguments != nullptr) {
    for (size_t k = 0; k < *count; k++) {
      arguments[k] = k < info->arguments.size() ? info->arguments[k] : Make(env, napi_undefined);
    }
  }
  if (count != nullptr) *count = info->arguments.size();
  if (receiver != nullptr) *receiver = info->receiver;
  if (data != nullptr) *data = info->data;
  return Done(env, napi_ok);
}

napi_status napi_get_new_target(napi_env env, napi_callback_info info, napi_value* result) {
  *result = info->new_target;
  return Done(env, napi_ok);
}

napi_status napi_new_instance(napi_env env, napi_value constructor, size_t count, const napi_value* arguments,
                              napi_value* result) {
  const napi_value object = Make(env, napi_object);
  object->prototype = constructor->prototype;
  napi_callback_info__ info{object, constructor, std::vector<napi_value>(arguments, arguments + count), nullptr};
  const napi_status status = Invoke(env, constructor, &info, nullptr);
  if (status == napi_ok) *result = object;
  return status;
}

// The prototype of the instances is the function's, which itself needs none.
napi_status napi_define_class(napi_env env, const char*, size_t, napi_callback constructor, void* data, size_t count,
                              const napi_property_descriptor* properties, napi_value* result) {
  *result = Make(env, napi_function);
  (*result)->callback = constructor;
  (*result)->data = data;
  (*result)->prototype = Make(env, napi_object);
  for (size_t k = 0; k < count; k++) {
    const bool is_static = (properties[k].attributes & napi_static) != 0;
    Define(env, is_static ? *result : (*result)->prototype, properties[k]);
  }
  return Done(env, napi_ok);
}

napi_status napi_wrap(napi_env env, napi_value object, void* native, node_api_basic_finalize finalize, void* hint,
                      napi_ref* result) {
  if (!IsObject(object)) return Done(env, napi_object_expected, "An object was expected");
  object->wrapped = native;
  object->finalizers.push_back({finalize, native, hint});
  return result == nullptr ? Done(env, napi_ok) : napi_create_reference(env, object, 0, result);
}

napi_status napi_unwrap(napi_env env, napi_value object, void** result) {
  if (!IsObject(object) || object->wrapped == nullptr) return Done(env, napi_invalid_arg, "Invalid argument");
  *result = object->wrapped;
  return Done(env, napi_ok);
}

napi_status napi_remove_wrap(napi_env env, napi_value object, void** result) {
  if (result != nullptr) *result = object->wrapped;
  std::erase_if(object->finalizers, [&](const Finalizer& each) { return each.data == object->wrapped; });
  object->wrapped = nullptr;
  return Done(env, napi_ok);
}

napi_status napi_add_finalizer(napi_env env, napi_value object, void* data, node_api_basic_finalize finalize,
                               void* hint, napi_ref* result) {
  object->finalizers.push_back({finalize, data, hint});
  return result == nullptr ? Done(env, napi_ok) : napi_create_reference(env, object, 0, result);
}

napi_status napi_create_promise(napi_env env, napi_deferred* deferred, napi_value* promise) {
  *promise = Make(env, napi_object);
  (*promise)->is_promise = true;
  *deferred = &env->deferred.emplace_back(napi_deferred__{*promise});
  return Done(env, napi_ok);
}

napi_status napi_resolve_deferred(napi_env env, napi_deferred deferred, napi_value resolution) {
  return Settle(env, deferred, PromiseState::kFulfilled, resolution);
}

napi_status napi_reject_deferred(napi_env env, napi_deferred deferred, napi_value rejection) {
  return Settle(env, deferred, PromiseState::kRejected, rejection);
}

napi_status napi_create_threadsafe_function(napi_env env, napi_value, napi_value, napi_value, size_t, size_t, void*,
                                            napi_finalize finalize, void* context,
                                            napi_threadsafe_function_call_js call, napi_threadsafe_function* result) {
  if (env->refuses_threadsafe_functions) return Done(env, napi_generic_failure, "Unknown failure");
  const std::lock_guard<std::mutex> lock(env->mutex);
  *result = &env->threadsafe.emplace_back(napi_threadsafe_function__{env, context, call, finalize});
  return Done(env, napi_ok);
}

// The one function that any thread may call.
napi_status napi_call_threadsafe_function(napi_threadsafe_function function, void* data,
                                          napi_threadsafe_function_call_mode) {
  {
    const std::lock_guard<std::mutex> lock(function->env->mutex);
    if (function->is_closing) return napi_closing;
    function->env->calls.emplace_back(function, data);
  }
  function->env->arrived.notify_one();
  return napi_ok;
}

// Calls that have not run are run without an environment, as Node.js does when it closes the function.
napi_status napi_release_threadsafe_function(napi_threadsafe_function function, napi_threadsafe_function_release_mode) {
  std::vector<void*> dropped;
  {
    const std::lock_guard<std::mutex> lock(function->env->mutex);
    function->is_closing = true;
    for (const auto& [of, data] : function->env->calls) {
      if (of == function) dropped.push_back(data);
    }
    std::erase_if(function->env->calls, [&](const auto& each) { return each.first == function; });
  }
  for (void* data : dropped) function->call(nullptr, nullptr, function->context, data);
  // Later, as Node.js does: the function may be running.
  return napi_ok;
}

napi_status napi_ref_threadsafe_function(node_api_basic_env, napi_threadsafe_function function) {
  function->is_referenced = true;
  return napi_ok;
}

napi_status napi_unref_threadsafe_function(node_api_basic_env, napi_threadsafe_function function) {
  function->is_referenced = false;
  return napi_ok;
}

// Exported by NODE_API_MODULE of the addon.
napi_value napi_register_module_v1(napi_env env, napi_value exports);

}  // extern "C"

namespace in_process_node_api {

Environment::Environment() : env_(new napi_env__) {}

Environment::~Environment() {
  RunCleanupHooks();
  for (napi_threadsafe_function__& each : env_->threadsafe) {
    if (each.finalize != nullptr) each.finalize(env(), nullptr, each.context);
  }
  // By index: a finalizer may make values.
  for (size_t k = 0; k < env_->values.size(); k++) Finalize(env(), &env_->values[k]);
}

napi_value Environment::LoadAddon() { return napi_register_module_v1(env(), Make(env(), napi_object)); }

void Environment::Await(const std::function<bool()>& done) {
  while (!done()) {
    std::pair<napi_threadsafe_function, void*> call;
    {
      std::unique_lock<std::mutex> lock(env_->mutex);
      env_->arrived.wait(lock, [&] { return !env_->calls.empty(); });
      call = env_->calls.front();
      env_->calls.pop_front();
    }
    call.first->call(env(), nullptr, call.first->context, call.second);
  }
}

PromiseState Environment::StateOf(napi_value promise) const { return promise->state; }

napi_value Environment::ResultOf(napi_value promise) const { return promise->result; }

bool Environment::IsHeld(napi_value value) const {
  std::vector<napi_value> reached;
  const auto reach = [&](napi_value each) {
    if (each != nullptr && std::find(reached.begin(), reached.end(), each) == reached.end()) reached.push_back(each);
  };
  for (const auto& reference : env_->references) {
    if (reference->count > 0) reach(reference->value);
  }
  for (size_t k = 0; k < reached.size(); k++) {
    const napi_value each = reached[k];
    for (const auto& [name, property] : each->properties) reach(property);
    for (const napi_value element : each->elements) reach(element);
    reach(each->buffer);
  }
  return std::find(reached.begin(), reached.end(), value) != reached.end();
}

void Environment::Collect(napi_value value) { Finalize(env(), value); }

bool Environment::KeepsProcessAlive() const {
  const auto& functions = env_->threadsafe;
  return std::any_of(functions.begin(), functions.end(),
                     [](const auto& each) { return each.is_referenced && !each.is_closing; });
}

void Environment::RunCleanupHooks() {
  while (!env_->hooks.empty()) {
    const auto [hook, argument] = env_->hooks.back();
    env_->hooks.pop_back();
    hook(argument);
  }
}

void Environment::RefuseExternalBuffers() { env_->refuses_external_buffers = true; }

void Environment::EndJavaScript() { env_->runs_javascript = false; }

void Environment::RefuseThreadsafeFunctions() { env_->refuses_threadsafe_functions = true; }

}  // namespace in_process_node_api
