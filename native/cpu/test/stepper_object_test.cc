#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "network_calls.h"
#include "test_values.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kStreamUnits = 5, kStreamInputs = 3, kStreams = 4;
const NetworkOptions kOptions{Cell::kLstm, 2, 1, kStreamUnits, kStreamInputs, 0, false, true, true, INFINITY, 0, 0};

// A stream of four rows.
template <typename T>
struct StreamCalls : ExecutorCalls<T> {
  explicit StreamCalls(double format = 0)
      : reference(kOptions),
        network(NewNetwork<T>(*this, kOptions)),
        stepper(this->New("NativeStepper", this->executor, network, static_cast<double>(kStreams), format)),
        params(this->Array(reference.Opaque(Network<T>(kOptions, PanelOrder::kRows)))) {}

  ReferenceNetwork reference;
  Napi::Object network, stepper, params;

  // From states of zeros.
  ReferenceStates Expected(const std::vector<double>& input, ptrdiff_t steps, ptrdiff_t batch) const {
    return reference.Run(input, steps, batch, std::vector<double>(reference.StateSize(batch)),
                         std::vector<double>(reference.CellSize(batch)));
  }
};

template <typename T>
double DifferenceFrom(const Napi::Value& array, const std::vector<double>& expected) {
  const std::vector<T> actual = ElementsOf<T>(array);
  return Difference(std::vector<double>(actual.begin(), actual.end()), expected);
}

template <typename T>
constexpr double kStepTolerance = sizeof(T) == sizeof(float) ? 3e-6 : 1e-14;

TEST_CASE_TEMPLATE("NativeStepper::step carries the state from call to call", T, float, double) {
  const StreamCalls<T> calls;
  const std::vector<double> input = Sine<double>(5 * kStreams * kStreamInputs, 0.9);
  const ReferenceStates expected = calls.Expected(input, 5, kStreams);
  // Two steps, none, and three.
  const auto part = [&](ptrdiff_t begin, ptrdiff_t steps) {
    const auto first = input.begin() + begin * kStreams * kStreamInputs;
    const Napi::Object x = ArrayOf<T>(calls, {first, first + steps * kStreams * kStreamInputs});
    const Napi::Object y = Filled<T>(calls, static_cast<size_t>(steps * kStreams * kStreamUnits), T{-7});
    calls.Call(calls.stepper, "step", calls.params, x, y, static_cast<double>(steps));
    const auto from = expected.output.begin() + begin * kStreams * kStreamUnits;
    CHECK(DifferenceFrom<T>(y, {from, from + steps * kStreams * kStreamUnits}) < kStepTolerance<T>);
  };
  part(0, 2);
  part(2, 0);
  part(2, 3);
}

TEST_CASE_TEMPLATE("NativeStepper::stepRows steps the listed rows alone, in their order", T, float, double) {
  const StreamCalls<T> calls;
  const std::vector<double> input = Sine<double>(2 * kStreamInputs, 0.9);
  const ReferenceStates expected = calls.Expected(input, 1, 2);
  const Napi::Object x = ArrayOf<T>(calls, input), y = Filled<T>(calls, 2 * kStreamUnits, T{-7});
  // The third entry of the list is beyond the count.
  const Napi::Object rows = calls.template Array<int32_t>({3, 1, 99});
  calls.Call(calls.stepper, "stepRows", calls.params, rows, 2.0, x, y);
  CHECK(DifferenceFrom<T>(y, expected.output) < kStepTolerance<T>);
  const Napi::Object h = Filled<T>(calls, 2 * kStreams * kStreamUnits, T{-7}),
                     c = Filled<T>(calls, 2 * kStreams * kStreamUnits, T{-7});
  calls.Call(calls.stepper, "moveState", h, c, false, nullptr, 0.0);
  const std::vector<T> state = ElementsOf<T>(h);
  for (ptrdiff_t layer = 0; layer < 2; layer++) {
    for (ptrdiff_t unit = 0; unit < kStreamUnits; unit++) {
      const auto at = [&](ptrdiff_t row) {
        return state[static_cast<size_t>((layer * kStreams + row) * kStreamUnits + unit)];
      };
      const auto of = [&](ptrdiff_t row) {
        return expected.h[static_cast<size_t>((layer * 2 + row) * kStreamUnits + unit)];
      };
      CHECK(at(0) == 0);
      CHECK(at(2) == 0);
      CHECK(std::abs(at(3) - of(0)) < kStepTolerance<T>);
      CHECK(std::abs(at(1) - of(1)) < kStepTolerance<T>);
    }
  }
}

TEST_CASE_TEMPLATE("NativeStepper::bind returns a function that steps between the same arrays", T, float, double) {
  StreamCalls<T> calls;
  const std::vector<double> input = Sine<double>(3 * kStreams * kStreamInputs, 0.9);
  const ReferenceStates expected = calls.Expected(input, 3, kStreams);
  const Napi::Object x = Filled<T>(calls, kStreams * kStreamInputs, T{0}),
                     y = Filled<T>(calls, kStreams * kStreamUnits, T{0});
  const auto step = calls.Call(calls.stepper, "bind", calls.params, x, y).template As<Napi::Function>();
  // Its addresses are taken once: the arrays stay as long as the stream.
  for (const Napi::Object& array : {calls.params, x, y}) CHECK(calls.environment.IsHeld(array));
  CHECK(step.Get("stepper").StrictEquals(calls.stepper));
  for (ptrdiff_t t = 0; t < 3; t++) {
    for (ptrdiff_t k = 0; k < kStreams * kStreamInputs; k++) {
      x.As<Napi::TypedArrayOf<T>>()[static_cast<size_t>(k)] =
          static_cast<T>(input[static_cast<size_t>(t * kStreams * kStreamInputs + k)]);
    }
    step.Call(calls.env.Undefined(), std::vector<napi_value>{});
    const auto from = expected.output.begin() + t * kStreams * kStreamUnits;
    CHECK(DifferenceFrom<T>(y, {from, from + kStreams * kStreamUnits}) < kStepTolerance<T>);
  }
  // A second bind lets go of the first arrays.
  const Napi::Object other = Filled<T>(calls, kStreams * kStreamInputs, T{0});
  calls.Call(calls.stepper, "bind", calls.params, other, y);
  CHECK_FALSE(calls.environment.IsHeld(x));
  CHECK(calls.environment.IsHeld(other));
  calls.environment.Collect(calls.stepper);
  for (const Napi::Object& array : {calls.params, other, y}) CHECK_FALSE(calls.environment.IsHeld(array));
}

TEST_CASE_TEMPLATE("NativeStepper::resetRow sets the state of one row to zeros", T, float, double) {
  const StreamCalls<T> calls;
  const std::vector<T> ones(2 * kStreams * kStreamUnits, T{1});
  const Napi::Object h = calls.Array(ones), c = calls.Array(ones);
  calls.Call(calls.stepper, "moveState", h, c, true, nullptr, 0.0);
  calls.Call(calls.stepper, "resetRow", 2.0);
  calls.Call(calls.stepper, "moveState", h, c, false, nullptr, 0.0);
  for (const Napi::Object& state : {h, c}) {
    const std::vector<T> values = ElementsOf<T>(state);
    for (size_t k = 0; k < values.size(); k++) CHECK(values[k] == (k / kStreamUnits % kStreams == 2 ? T{0} : T{1}));
  }
}

TEST_CASE_TEMPLATE("NativeStepper::moveState moves the states of listed rows, in their order", T, float, double) {
  const StreamCalls<T> calls;
  const Napi::Object rows = calls.template Array<int32_t>({2, 0});
  const std::vector<T> values = Sine<T>(2 * 2 * kStreamUnits, 0.3), cells = Sine<T>(2 * 2 * kStreamUnits, 0.7);
  calls.Call(calls.stepper, "moveState", calls.Array(values), calls.Array(cells), true, rows, 2.0);
  const Napi::Object h = Filled<T>(calls, values.size(), T{-7}), c = Filled<T>(calls, values.size(), T{-7});
  calls.Call(calls.stepper, "moveState", h, c, false, rows, 2.0);
  CHECK(ElementsOf<T>(h) == values);
  CHECK(ElementsOf<T>(c) == cells);
  // Row 0 alone, which is the second of the list: [L,1,H] of both layers.
  const Napi::Object alone = Filled<T>(calls, 2 * kStreamUnits, T{-7}),
                     other = Filled<T>(calls, 2 * kStreamUnits, T{-7});
  calls.Call(calls.stepper, "moveState", alone, other, false, calls.template Array<int32_t>({0}), 1.0);
  for (ptrdiff_t layer = 0; layer < 2; layer++) {
    for (ptrdiff_t unit = 0; unit < kStreamUnits; unit++) {
      CHECK(ElementsOf<T>(alone)[static_cast<size_t>(layer * kStreamUnits + unit)] ==
            values[static_cast<size_t>((layer * 2 + 1) * kStreamUnits + unit)]);
    }
  }
  // None of the rows.
  const Napi::Object none = Filled<T>(calls, 0, T{0});
  CHECK(ErrorOf([&] { calls.Call(calls.stepper, "moveState", none, none, true, rows, 0.0); }).empty());
}

TEST_CASE("NativeStepper refuses rows that are outside of the batch, and steps none") {
  const StreamCalls<float> calls;
  const Napi::Object x = Filled<float>(calls, 2 * kStreamInputs, 1), y = Filled<float>(calls, 2 * kStreamUnits, -7);
  const auto step = [&](const std::vector<int32_t>& rows, double count) {
    return ErrorOf([&] { calls.Call(calls.stepper, "stepRows", calls.params, rows, count, x, y); });
  };
  for (const int32_t row : {-1, 4, INT32_MAX, INT32_MIN}) {
    CHECK(step({0, row}, 2) == "RangeError ERR_STREAM_ROW");
    CHECK(step({row, 0}, 2) == "RangeError ERR_STREAM_ROW");
  }
  CHECK(MessageOf([&] { calls.Call(calls.stepper, "stepRows", calls.params, std::vector<int32_t>{7}, 1.0, x, y); }) ==
        "Cannot step a stream as rows must be in 0..3: current value is 7");
  // More than the list has, than the batch has, or fewer than none.
  CHECK(step({0, 1}, 3) == kTransferred);
  CHECK(step({0, 1, 2, 3, 0}, 5) == kTransferred);
  CHECK(step({0, 1}, -1) == kTransferred);
  CHECK(ElementsOf<float>(y) == std::vector<float>(2 * kStreamUnits, -7));
  const Napi::Object h = Filled<float>(calls, 2 * kStreams * kStreamUnits, 5),
                     c = Filled<float>(calls, 2 * kStreams * kStreamUnits, 5);
  calls.Call(calls.stepper, "moveState", h, c, false, nullptr, 0.0);
  CHECK(ElementsOf<float>(h) == std::vector<float>(2 * kStreams * kStreamUnits, 0));
}

TEST_CASE("NativeStepper refuses each array of another size or type, and does not step") {
  const StreamCalls<float> calls;
  const Napi::Object x = Filled<float>(calls, kStreams * kStreamInputs, 1),
                     y = Filled<float>(calls, kStreams * kStreamUnits, -7);
  const std::vector<Napi::Value> good = {calls.params, x, y};
  for (size_t k = 0; k < 3; k++) {
    for (const Napi::Value& wrong : {Napi::Value(Filled<float>(calls, 7, 0)), Napi::Value(calls.env.Null()),
                                     Napi::Value(Filled<double>(calls, 7, 0))}) {
      std::vector<Napi::Value> arrays = good;
      arrays[k] = wrong;
      const bool is_double =
          wrong.IsTypedArray() && wrong.As<Napi::TypedArray>().TypedArrayType() == napi_float64_array;
      const std::string expected = is_double ? kDtype : kTransferred;
      CAPTURE(k);
      CHECK(ErrorOf([&] { calls.Call(calls.stepper, "step", arrays[0], arrays[1], arrays[2], 1.0); }) == expected);
      CHECK(ErrorOf([&] { calls.Call(calls.stepper, "bind", arrays[0], arrays[1], arrays[2]); }) == expected);
      const std::vector<int32_t> all = {0, 1, 2, 3};
      CHECK(ErrorOf([&] { calls.Call(calls.stepper, "stepRows", arrays[0], all, 4.0, arrays[1], arrays[2]); }) ==
            expected);
    }
  }
  // The arrays of one step are too short for two.
  CHECK(ErrorOf([&] { calls.Call(calls.stepper, "step", calls.params, x, y, 2.0); }) == kTransferred);
  CHECK(ElementsOf<float>(y) == std::vector<float>(kStreams * kStreamUnits, -7));
}

TEST_CASE("NativeStepper may be used after its executor was closed and collected, and its network collected") {
  StreamCalls<double> calls;
  calls.Call(calls.executor, "close");
  calls.environment.Collect(calls.executor);
  calls.environment.Collect(calls.network);
  const std::vector<double> input = Sine<double>(kStreams * kStreamInputs, 0.9);
  const Napi::Object y = Filled<double>(calls, kStreams * kStreamUnits, -7);
  calls.Call(calls.stepper, "step", calls.params, calls.Array(input), y, 1.0);
  CHECK(DifferenceFrom<double>(y, calls.Expected(input, 1, kStreams).output) < 1e-14);
}

TEST_CASE("NativeStepper reads quantized weights where they are given") {
  StreamCalls<float> calls(2);
  const Napi::Object quantized = calls.New("NativeQuantizedWeights");
  calls.Run("quantize", calls.ObjectOf({{"network", calls.network},
                                        {"params", calls.params},
                                        {"quantized", quantized},
                                        {"format", calls.Value(2.0)}}));
  const std::vector<double> input = Sine<double>(kStreams * kStreamInputs, 0.9);
  const Napi::Object x = ArrayOf<float>(calls, input), y = Filled<float>(calls, kStreams * kStreamUnits, -7);
  calls.Call(calls.stepper, "step", calls.params, x, y, 1.0, quantized);
  const double difference = DifferenceFrom<float>(y, calls.Expected(input, 1, kStreams).output);
  CHECK(difference > 1e-5);
  CHECK(difference < 0.02);
  for (double row = 0; row < kStreams; row++) calls.Call(calls.stepper, "resetRow", row);
  // The same rows by their list.
  const Napi::Object listed = Filled<float>(calls, kStreams * kStreamUnits, -7);
  calls.Call(calls.stepper, "stepRows", calls.params, std::vector<int32_t>{0, 1, 2, 3}, 4.0, x, listed, quantized);
  CHECK(Difference(ElementsOf<float>(listed), ElementsOf<float>(y)) < 1e-6);
}

TEST_CASE("NativeStepper of more rows than there is memory throws ERR_OUT_OF_MEMORY") {
  const StreamCalls<float> calls;
  CHECK(ErrorOf([&] { calls.New("NativeStepper", calls.executor, calls.network, std::ldexp(1, 50), false); }) ==
        "RangeError ERR_OUT_OF_MEMORY");
}

}  // namespace
}  // namespace cudnn_rnn
