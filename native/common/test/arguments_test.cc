#include "arguments.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "addon_calls.h"

namespace cudnn_rnn {
namespace {

constexpr const char* kTransferred = "RangeError ERR_TENSOR_TRANSFERRED";
constexpr const char* kDtype = "TypeError ERR_DTYPE";

TEST_CASE_TEMPLATE("Span has the address and the number of elements of an array of its type", T, float, double, int32_t,
                   uint8_t) {
  const AddonCalls calls;
  const Napi::Object array = calls.Array<T>({T{3}, T{4}, T{5}});
  const ElementSpan<T> span = Span<T>(array);
  CHECK(span.count == 3);
  CHECK(static_cast<void*>(span.data) == array.As<Napi::TypedArray>().ArrayBuffer().Data());
  span.data[1] = T{9};
  CHECK(ElementsOf<T>(array) == std::vector<T>{T{3}, T{9}, T{5}});
}

TEST_CASE("Span of a view begins at the view's offset") {
  const AddonCalls calls;
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(calls.env, 6 * sizeof(double));
  const auto view = Napi::Float64Array::New(calls.env, 3, buffer, 2 * sizeof(double));
  CHECK(Span<double>(view).data == static_cast<double*>(buffer.Data()) + 2);
  CHECK(Span<double>(view).count == 3);
}

TEST_CASE("Span of null and undefined has no elements") {
  const AddonCalls calls;
  for (const Napi::Value& value : {calls.env.Null(), calls.env.Undefined()}) {
    CHECK(Span<float>(value).data == nullptr);
    CHECK(Span<float>(value).count == 0);
  }
}

TEST_CASE("Span refuses arrays of another type and values of other kinds") {
  const AddonCalls calls;
  const std::vector<Napi::Value> others = {calls.Array<double>({1}),
                                           calls.Array<int32_t>({1}),
                                           calls.Array<uint8_t>({1, 2, 3, 4}),
                                           Napi::ArrayBuffer::New(calls.env, 4),
                                           Napi::Array::New(calls.env, 1),
                                           Napi::Object::New(calls.env),
                                           calls.Value(1.0),
                                           calls.Value(false),
                                           calls.Value("1")};
  for (const Napi::Value& value : others) CHECK(ErrorOf([&] { Span<float>(value); }) == kDtype);
}

TEST_CASE("Span of an array whose buffer was transferred has no elements") {
  const AddonCalls calls;
  const Napi::Object array = calls.Array<float>({1, 2});
  Transfer(array);
  CHECK(Span<float>(array).count == 0);
}

TEST_CASE("Elements and Required have the address of an array of the expected number") {
  const AddonCalls calls;
  const Napi::Value array = calls.Array<float>({1, 2});
  const Napi::Object object = calls.ObjectOf({{"x", array}});
  const float* data = Span<float>(array).data;
  CHECK(Elements<float>(array, "x", 2) == data);
  CHECK(Elements<float>(object, "x", 2) == data);
  CHECK(Required<float>(array, "x", 2) == data);
  CHECK(Required<float>(object, "x", 2) == data);
}

TEST_CASE("Elements and Required refuse every other number of elements") {
  const AddonCalls calls;
  const Napi::Value array = calls.Array<float>({1, 2});
  for (const ptrdiff_t expected : {-1, 0, 1, 3, 1 << 30}) {
    CHECK(ErrorOf([&] { Elements<float>(array, "x", expected); }) == kTransferred);
    CHECK(ErrorOf([&] { Required<float>(array, "x", expected); }) == kTransferred);
  }
  CHECK(MessageOf([&] { Elements<float>(array, "dOutput", 3); }) ==
        "Cannot use dOutput as it must have 3 elements: current number is 2. Its buffer was transferred or resized.");
  Transfer(array.As<Napi::Object>());
  CHECK(MessageOf([&] { Required<float>(array, "input", 2); }) ==
        "Cannot use input as it must have 2 elements: current number is 0. Its buffer was transferred or resized.");
  // A transferred array is not the same as one that was left out.
  CHECK(ErrorOf([&] { Elements<float>(array, "x", 2); }) == kTransferred);
}

TEST_CASE(
    "Elements of null, undefined and absent properties is null; Required refuses them unless nothing is expected") {
  const AddonCalls calls;
  const Napi::Object object = calls.ObjectOf({{"none", calls.env.Null()}, {"undefined", calls.env.Undefined()}});
  for (const char* name : {"none", "undefined", "absent"}) {
    CHECK(Elements<float>(object, name, 5) == nullptr);
    CHECK(Elements<float>(object, name, 0) == nullptr);
    CHECK(ErrorOf([&] { Required<float>(object, name, 5); }) == kTransferred);
    CHECK(Required<float>(object, name, 0) == nullptr);
  }
}

TEST_CASE("Elements refuses another type before it compares numbers") {
  const AddonCalls calls;
  const Napi::Value doubles = calls.Array<double>({1, 2}), floats = calls.Array<float>({1, 2});
  CHECK(ErrorOf([&] { Elements<float>(doubles, "x", 2); }) == kDtype);
  CHECK(ErrorOf([&] { Required<int32_t>(floats, "x", 3); }) == kDtype);
}

TEST_CASE("Number, Size and Flag coerce a property as JavaScript does") {
  const AddonCalls calls;
  const Napi::Object object = calls.ObjectOf({{"half", calls.Value(2.5)},
                                              {"text", calls.Value("7")},
                                              {"yes", calls.Value(true)},
                                              {"no", calls.Value(0.0)},
                                              {"none", calls.env.Null()}});
  CHECK(Number(object, "half") == 2.5);
  CHECK(Size(object, "half") == 2);
  CHECK(Number(object, "text") == 7);
  CHECK(Number(object, "yes") == 1);
  CHECK(Number(object, "none") == 0);
  CHECK(std::isnan(Number(object, "absent")));
  CHECK(Flag(object, "yes"));
  CHECK(Flag(object, "text"));
  CHECK_FALSE(Flag(object, "no"));
  CHECK_FALSE(Flag(object, "none"));
  CHECK_FALSE(Flag(object, "absent"));
}

TEST_CASE("ThrowOutOfMemory names the action") {
  const AddonCalls calls;
  CHECK(ErrorOf([&] { ThrowOutOfMemory(calls.env, "open a stream"); }) == "RangeError ERR_OUT_OF_MEMORY");
  CHECK(MessageOf([&] { ThrowOutOfMemory(calls.env, "open a stream"); }) ==
        "Cannot open a stream as this process can have no more memory");
}

}  // namespace
}  // namespace cudnn_rnn
