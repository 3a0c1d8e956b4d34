#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "network_calls.h"

namespace cudnn_rnn {
namespace {

const NetworkOptions kLstm{Cell::kLstm, 2, 2, 5, 3, 2, false, true, true, INFINITY, 0, 0};

TEST_CASE_TEMPLATE("NativeNetwork has the parameters of its descriptor", T, float, double) {
  const ExecutorCalls<T> calls;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRelu, Cell::kTanh}) {
    for (const int directions : {1, 2}) {
      for (const bool skips : {false, true}) {
        for (const bool input_bias : {false, true}) {
          for (const bool recurrent_bias : {false, true}) {
            const NetworkOptions options{
                cell,           3,   directions, 19, skips ? 19 : 7, cell == Cell::kLstm ? 4 : 0, skips, input_bias,
                recurrent_bias, 1.5, 0.5,        9};
            const Napi::Object network = NewNetwork<T>(calls, options);
            CHECK(calls.Call(network, "paramsSize").ToNumber().DoubleValue() ==
                  static_cast<double>(Network<T>(options, PanelOrder::kRows).params_size()));
          }
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("NativeNetwork::moveRegion moves every canonical tensor into its own place, and out again", T, float,
                   double) {
  const ExecutorCalls<T> calls;
  const Napi::Object network = NewNetwork<T>(calls, kLstm);
  const Network<T> layout(kLstm, PanelOrder::kRows);
  ReferenceNetwork reference(kLstm);
  const Napi::Object params = Filled<T>(calls, static_cast<size_t>(layout.params_size()), T{0});
  const auto move = [&](const Napi::Object& canonical, int p, Side side, int gate, bool is_bias, bool into) {
    calls.Call(network, "moveRegion", params, canonical, static_cast<double>(p), static_cast<double>(side),
               static_cast<double>(gate), is_bias, into);
  };
  reference.ForEachTensor([&](const std::vector<double>& tensor, int p, Side side, int gate, bool is_bias) {
    move(ArrayOf<T>(calls, tensor), p, side, gate, is_bias, true);
  });
  // All tensors at once, as moves of neighbors must not overwrite each other.
  CHECK(ElementsOf<T>(params) == reference.Opaque(layout));
  reference.ForEachTensor([&](const std::vector<double>& tensor, int p, Side side, int gate, bool is_bias) {
    const Napi::Object out = Filled<T>(calls, tensor.size(), T{-7});
    move(out, p, side, gate, is_bias, false);
    CHECK(ElementsOf<T>(out) == std::vector<T>(tensor.begin(), tensor.end()));
  });
}

TEST_CASE("NativeNetwork::moveRegion refuses arrays of other sizes and types, and moves nothing") {
  const ExecutorCalls<float> calls;
  const Napi::Object network = NewNetwork<float>(calls, kLstm);
  const auto size = static_cast<size_t>(Network<float>(kLstm, PanelOrder::kRows).params_size());
  const auto move = [&](const Napi::Value& params, const Napi::Value& canonical, bool is_bias) {
    return ErrorOf([&] { calls.Call(network, "moveRegion", params, canonical, 0.0, 0.0, 0.0, is_bias, true); });
  };
  const Napi::Object params = Filled<float>(calls, size, 1);
  // The input matrix of a gate is [5,3], its bias [5].
  for (const size_t count : {0, 5, 14, 16}) CHECK(move(params, Filled<float>(calls, count, 2), false) == kTransferred);
  for (const size_t count : {0, 4, 15}) CHECK(move(params, Filled<float>(calls, count, 2), true) == kTransferred);
  CHECK(move(params, calls.env.Null(), false) == kTransferred);
  CHECK(move(params, Filled<double>(calls, 15, 2), false) == kDtype);
  CHECK(ElementsOf<float>(params) == std::vector<float>(size, 1));
  const Napi::Object canonical = Filled<float>(calls, 15, 2);
  CHECK(move(Filled<float>(calls, size - 1, 1), canonical, false) == kTransferred);
  CHECK(move(Filled<float>(calls, size + 1, 1), canonical, false) == kTransferred);
  CHECK(move(calls.env.Undefined(), canonical, false) == kTransferred);
  CHECK(move(params, canonical, false).empty());
}

TEST_CASE("NativeTape may be released at any time, and twice") {
  const AddonCalls calls;
  const Napi::Object tape = calls.New("NativeTape");
  CHECK(ErrorOf([&] { calls.Call(tape, "release"); }).empty());
  CHECK(ErrorOf([&] { calls.Call(tape, "release"); }).empty());
}

TEST_CASE("a class of the addon refuses the methods' receivers and arguments of other classes") {
  AddonCalls calls;
  const Napi::Object plain = Napi::Object::New(calls.env);
  const Napi::Object executor = calls.New("NativeExecutor", "portable", 1.0, false, false);
  CHECK_FALSE(ErrorOf([&] { calls.New("NativeStepper", executor, plain, 1.0, false); }).empty());
  CHECK_FALSE(ErrorOf([&] { calls.New("NativeStepper", plain, plain, 1.0, false); }).empty());
}

}  // namespace
}  // namespace cudnn_rnn
