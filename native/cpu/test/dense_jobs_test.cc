// The bindings of dense operations, of losses, updates and layers: small problems worked out by hand, and arguments
// that are refused. Their numbers at other sizes: the tests of the files in src/dense.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dense/operations.h"
#include "executor_calls.h"

namespace cudnn_rnn {
namespace {

template <typename T>
constexpr double kTolerance = sizeof(T) == sizeof(float) ? 1e-6 : 1e-14;

template <typename T>
bool IsNear(const std::vector<T>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return false;
  for (size_t k = 0; k < expected.size(); k++) {
    if (!(std::abs(actual[k] - expected[k]) <= kTolerance<T> * std::max(1.0, std::abs(expected[k])))) return false;
  }
  return true;
}

template <typename T>
Napi::Array ListOf(const ExecutorCalls<T>& calls, const std::vector<Napi::Value>& values) {
  Napi::Array list = Napi::Array::New(calls.env);
  for (size_t k = 0; k < values.size(); k++) list.Set(static_cast<uint32_t>(k), values[k]);
  return list;
}

// c [2,2] += a [2,3] · b [3,2], each inside a larger array; b is stored by columns.
template <typename T>
Napi::Object AddProduct(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"c", calls.template Array<T>({100, 1, 2, 100, 3, 4, 100})},
                         {"a", calls.template Array<T>({9, 1, 2, 3, 4, 5, 6})},
                         {"b", calls.template Array<T>({1, 2, 3, 4, 5, 6})},
                         {"layout", calls.template Array<double>({1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3})}});
}

TEST_CASE_TEMPLATE("addProduct adds to a block of an array, and is done when it returns", T, float, double) {
  const ExecutorCalls<T> calls;
  const Napi::Object arguments = AddProduct(calls);
  calls.Call(calls.executor, "addProduct", arguments);
  // Rows (1 2 3) and (4 5 6) times columns (1 2 3) and (4 5 6): 14 32, 32 77.
  CHECK(IsNear(ElementsOf<T>(arguments, "c"), {100, 15, 34, 100, 35, 81, 100}));
}

TEST_CASE("addProduct refuses a layout that leaves one of the arrays, and adds nothing then") {
  const ExecutorCalls<double> calls;
  const std::vector<double> layout = {1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Change {
    size_t index;
    double value;
  };
  // Offsets and strides one beyond the last that fit, and negative ones; one more row, column or step of the depth.
  for (const Change& change : std::initializer_list<Change>{
           {0, 3}, {0, -1}, {1, 5}, {1, -1}, {2, 3}, {2, -1}, {3, 2},  {3, -1}, {4, 4},   {5, 2},   {5, -1},
           {6, 1}, {6, -1}, {7, 2}, {7, -1}, {8, 4}, {9, 3},  {10, 3}, {11, 4}, {0, nan}, {4, nan}, {8, nan}}) {
    std::vector<double> wrong = layout;
    wrong[change.index] = change.value;
    const Napi::Object arguments = AddProduct(calls);
    arguments.Set("layout", calls.Array(wrong));
    CAPTURE(change.index);
    CAPTURE(change.value);
    CHECK(ErrorOf([&] { calls.Call(calls.executor, "addProduct", arguments); }) == kTransferred);
    CHECK(ElementsOf<double>(arguments, "c") == std::vector<double>{100, 1, 2, 100, 3, 4, 100});
  }
}

TEST_CASE("addProduct without rows, columns or depth reads no array") {
  const ExecutorCalls<double> calls;
  for (const size_t size : {9, 10, 11}) {
    for (const double none : {0.0, -2.0, std::numeric_limits<double>::quiet_NaN()}) {
      std::vector<double> layout = {1, 3, 1, 1, 3, 1, 0, 1, 3, 2, 2, 3};
      layout[size] = none;
      const Napi::Object arguments =
          calls.ObjectOf({{"c", calls.env.Null()}, {"a", calls.env.Null()}, {"b", calls.env.Null()}});
      arguments.Set("layout", calls.Array(layout));
      CHECK(ErrorOf([&] { calls.Call(calls.executor, "addProduct", arguments); }).empty());
    }
  }
}

// Two steps, two classes of equal probability and one row.
template <typename T>
Napi::Object Ctc(const ExecutorCalls<T>& calls) {
  return calls.ObjectOf({{"time", calls.Value(2.0)},
                         {"batch", calls.Value(1.0)},
                         {"classes", calls.Value(2.0)},
                         {"maxLabels", calls.Value(2.0)},
                         {"logits", calls.template Array<T>({3, 3, 4, 4})},
                         {"labels", calls.template Array<int32_t>({1, 1})},
                         {"labelLengths", calls.template Array<int32_t>({1})},
                         {"logitLengths", calls.template Array<int32_t>({2})},
                         {"rowWeights", calls.template Array<double>({2})},
                         {"blank", calls.Value(0.0)},
                         {"mergeRepeated", calls.Value(true)},
                         {"infeasible", calls.Value(0.0)},
                         {"rowLosses", calls.template Array<T>({-1})},
                         {"gradient", calls.template Array<T>({-1, -1, -1, -1})},
                         {"loss", calls.template Array<T>({-1})}});
}

TEST_CASE_TEMPLATE("ctcLoss weighs the loss of a row", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object arguments = Ctc(calls);
  calls.Run("ctcLoss", arguments);
  // The label 1 is spelled by the paths 11, 01 and 10 of four: p = 3/4. At each step two of these three have class 1.
  CHECK(IsNear(ElementsOf<T>(arguments, "rowLosses"), {-std::log(0.75)}));
  CHECK(IsNear(ElementsOf<T>(arguments, "loss"), {-2 * std::log(0.75)}));
  const double difference = 2 * (2.0 / 3 - 0.5);
  CHECK(IsNear(ElementsOf<T>(arguments, "gradient"), {difference, -difference, difference, -difference}));
}

TEST_CASE_TEMPLATE("ctcLoss reads the rules of repeated labels and of rows without an alignment", T, float, double) {
  ExecutorCalls<T> calls;
  // The labels 1 1 need a blank between them if equal neighbors merge, and both steps if they do not.
  const auto run = [&](bool merges, double infeasible) {
    const Napi::Object arguments = Ctc(calls);
    arguments.Set("labelLengths", calls.template Array<int32_t>({2}));
    arguments.Set("mergeRepeated", calls.Value(merges));
    arguments.Set("infeasible", calls.Value(infeasible));
    calls.Run("ctcLoss", arguments);
    return arguments;
  };
  CHECK(IsNear(ElementsOf<T>(run(false, 0), "rowLosses"), {std::log(4.0)}));
  const Napi::Object infinite = run(true, 0);
  CHECK(ElementsOf<T>(infinite, "loss")[0] == std::numeric_limits<T>::infinity());
  CHECK(std::isnan(ElementsOf<T>(run(true, 1), "gradient")[0]));
  const Napi::Object zero = run(true, 2);
  CHECK(ElementsOf<T>(zero, "loss") == std::vector<T>{0});
  CHECK(ElementsOf<T>(zero, "gradient") == std::vector<T>{0, 0, 0, 0});
}

template <typename T>
Napi::Object Norm(const ExecutorCalls<T>& calls, double max_norm) {
  return calls.ObjectOf({{"tensors", ListOf(calls, {calls.template Array<T>({3}), calls.template Array<T>({0, -4})})},
                         {"maxNorm", calls.Value(max_norm)},
                         {"norm", calls.template Array<T>({-1})}});
}

template <typename T>
std::vector<T> TensorOf(const Napi::Object& arguments, uint32_t index) {
  return ElementsOf<T>(arguments.Get("tensors").As<Napi::Array>().Get(index));
}

TEST_CASE_TEMPLATE("norm scales all tensors down to the maximum, and leaves smaller ones", T, float, double) {
  ExecutorCalls<T> calls;
  const Napi::Object above = Norm(calls, 1);
  calls.Run("norm", above);
  CHECK(IsNear(ElementsOf<T>(above, "norm"), {5}));
  CHECK(IsNear(TensorOf<T>(above, 0), {0.6}));
  CHECK(IsNear(TensorOf<T>(above, 1), {0, -0.8}));
  for (const double max_norm : {5.0, 6.0, std::numeric_limits<double>::infinity()}) {
    const Napi::Object within = Norm(calls, max_norm);
    calls.Run("norm", within);
    CHECK(TensorOf<T>(within, 0) == std::vector<T>{3});
    CHECK(TensorOf<T>(within, 1) == std::vector<T>{0, -4});
  }
}

TEST_CASE("norm that is not finite leaves the tensors as they are") {
  ExecutorCalls<float> calls;
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Napi::Object arguments = Norm(calls, 1);
    arguments.Set("tensors", ListOf(calls, {calls.Array<float>({2}), calls.Array<float>({value})}));
    calls.Run("norm", arguments);
    CHECK_FALSE(std::isfinite(ElementsOf<float>(arguments, "norm")[0]));
    CHECK(TensorOf<float>(arguments, 0) == std::vector<float>{2});
  }
}

TEST_CASE("norm of no tensors and of empty ones is 0") {
  ExecutorCalls<double> calls;
  for (const auto& tensors : {ListOf(calls, {}), ListOf(calls, {calls.Array<double>({})})}) {
    const Napi::Object arguments = Norm(calls, 1);
    arguments.Set("tensors", tensors);
    calls.Run("norm", arguments);
    CHECK(ElementsOf<double>(arguments, "norm") == std::vector<double>{0});
  }
}

struct OperationCase {
  Operation operation;
  std::vector<std::vector<double>> operands;  // results first
  std::vector<double> numbers;
  std::vector<int32_t> integers;
  std::vector<std::vector<double>> expected;  // results
};

const double kNan = std::numeric_limits<double>::quiet_NaN();

// One step of each rule on two elements.
const std::vector<OperationCase> kUpdates = {
    {Operation::kAssign, {{1, 2}, {3, 4}}, {}, {}, {{3, 4}}},
    {Operation::kAddScaled, {{1, 2}, {3, 4}}, {-0.5}, {}, {{-0.5, 0}}},
    {Operation::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 0, 0}, {}, {{9.75, 9.6}, {2.5, 4}}},
    {Operation::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 1, 0}, {}, {{9.675, 9.4}, {2.5, 4}}},
    {Operation::kMomentum, {{10, 10}, {1, 0}, {2, 4}}, {0.1, 0.5, 0, 1}, {}, {{9.3, 9.6}, {0.7, 0.4}}},
    // The first step of Adam moves by the rate against the gradient's sign.
    {Operation::kAdam,
     {{1, 1}, {0, 0}, {0, 0}, {5, -0.25}},
     {0.1, 0.5, 0.75, 0, 1},
     {},
     {{0.9, 1.1}, {2.5, -0.125}, {6.25, 0.015625}}},
    {Operation::kRmsProp, {{1, 1}, {0, 0}, {0, 0}, {2, -4}}, {0.5, 0, 0, 0, 0, 0}, {}, {{0.5, 1.5}, {4, 16}, {1, -1}}},
    {Operation::kAdagrad, {{1, 1}, {5, 0}, {2, -4}}, {0.3, 0, 0}, {}, {{0.8, 1.3}, {9, 16}}},
    {Operation::kWeightDecay, {{10, -4}, {1, 0}}, {0.5}, {}, {{5, -4}}},
    {Operation::kClip, {{3, -0.25}}, {0.5}, {}, {{0.5, -0.25}}},
};

// Small problems by hand; results are NaN before.
const std::vector<OperationCase> kRows = {
    {Operation::kLinear,
     {std::vector<double>(6, kNan), {1, 2, 3, 4}, {1, 0, 2, 0, 1, 3}, {10, 20, 30}},
     {2, 2, 3},
     {},
     {{11, 22, 38, 13, 24, 48}}},
    // Products with the transposes, and the sum of the rows.
    {Operation::kLinearGradients,
     {std::vector<double>(4, kNan),
      std::vector<double>(6, kNan),
      {kNan, kNan, kNan},
      {1, 2, 3, 4},
      {1, 0, 2, 0, 1, 3},
      {1, 0, 0, 0, 1, 1}},
     {2, 2, 3},
     {},
     {{1, 0, 2, 4}, {1, 3, 3, 2, 4, 4}, {1, 1, 1}}},
    {Operation::kEmbedding,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}},
     {2, 3, 3},
     {2, 0, 2},
     {{5, 6, 1, 2, 5, 6}}},
    // The mean over the rows, and the mean by their weights.
    {Operation::kSoftmaxCrossEntropy,
     {{kNan}, std::vector<double>(4, kNan), {5, 5, 7, 7}},
     {2, 2},
     {1, 0},
     {{std::log(2.0)}, {0.25, -0.25, -0.25, 0.25}}},
    {Operation::kSoftmaxCrossEntropy,
     {{kNan}, std::vector<double>(4, kNan), {5, 5, 7, 7}, {0, 3}},
     {2, 2},
     {1, 0},
     {{std::log(2.0)}, {0, 0, -0.5, 0.5}}},
    // relu bounded by 6
    {Operation::kActivate, {{kNan, kNan, kNan}, {-1, 2, 9}}, {2, 1, 3, 6}, {}, {{0, 2, 6}}},
    {Operation::kActivationGradient, {{kNan, kNan, kNan}, {0, 2, 6}, {5, 5, 5}}, {2, 1, 3, 6}, {}, {{0, 5, 0}}},
    // (1, 3): mean 2, deviation 1
    {Operation::kLayerNorm, {{kNan, kNan}, {1, 3}, {10, 10}, {1, 2}}, {1, 2, 0}, {}, {{-9, 12}}},
    // Both columns of the normalized row get the same gradient: nothing is left of it in x.
    {Operation::kLayerNormGradients,
     {{kNan, kNan}, {kNan, kNan}, {kNan, kNan}, {1, 3}, {1, 1}, {4, 4}},
     {1, 2, 0},
     {},
     {{0, 0}, {-4, 4}, {4, 4}}},
    // Three steps of two rows of one column; the second row has two steps.
    {Operation::kMaskSequence,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}},
     {3, 2, 1},
     {3, 2},
     {{1, 2, 3, 4, 5, 0}}},
    {Operation::kReverseSequence,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}},
     {3, 2, 1},
     {3, 2},
     {{5, 4, 3, 2, 1, 0}}},
    {Operation::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 0, 1}, {3, 2}, {{5, 4}}},
    {Operation::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 1, 1}, {3, 2}, {{3, 3}}},
    {Operation::kPoolSequence, {{kNan, kNan}, {1, 2, 3, 4, 5, 6}}, {3, 2, 1, 2, 1}, {3, 1}, {{5, 2}}},
    {Operation::kPoolSequenceGradient,
     {std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}, {6, 8}},
     {3, 2, 1, 1, 1},
     {3, 2},
     {{2, 4, 2, 4, 2, 0}}},
    // Equal scores: the mean of the row's own steps.
    {Operation::kAttend,
     {{kNan, kNan}, std::vector<double>(6, kNan), {1, 2, 3, 4, 5, 6}, {7, 7, 7, 7, 7, 7}},
     {3, 2, 1},
     {3, 2},
     {{3, 3}, {1. / 3, .5, 1. / 3, .5, 1. / 3, 0}}},
    // x·dy of the two steps are 2 and 6, their mean 4.
    {Operation::kAttendGradients,
     {{kNan, kNan}, {kNan, kNan}, {1, 3}, {.5, .5}, {2}},
     {2, 1, 1},
     {},
     {{1, 1}, {-1, 1}}},
    // Squared errors 1 and 9
    {Operation::kElementLoss, {{kNan}, {kNan, kNan}, {1, 3}, {2, 0}}, {0, 1, 2}, {}, {{5}, {-1, 3}}},
};

std::vector<OperationCase> AllCases() {
  std::vector<OperationCase> cases = kRows;
  cases.insert(cases.end(), kUpdates.begin(), kUpdates.end());
  // Adds to the table, the rows of a repeated id too.
  cases.push_back({Operation::kEmbeddingGradient,
                   {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}},
                   {2, 3, 3},
                   {2, 0, 2},
                   {{31, 42, 3, 4, 65, 86}}});
  return cases;
}

template <typename T>
Napi::Object ArgumentsOfCase(const ExecutorCalls<T>& calls, const OperationCase& each) {
  std::vector<Napi::Value> operands;
  std::vector<double> counts;
  for (const auto& operand : each.operands) {
    operands.push_back(calls.Array(std::vector<T>(operand.begin(), operand.end())));
    counts.push_back(static_cast<double>(operand.size()));
  }
  counts.push_back(static_cast<double>(each.integers.size()));
  const Napi::Value integers = each.integers.empty() ? calls.env.Null() : Napi::Value(calls.Array(each.integers));
  return calls.ObjectOf({{"op", calls.Value(static_cast<double>(each.operation))},
                         {"operands", ListOf(calls, operands)},
                         {"counts", calls.Array(counts)},
                         {"integers", integers},
                         {"numbers", calls.Array(each.numbers)}});
}

template <typename T>
std::vector<T> OperandOf(const Napi::Object& arguments, uint32_t k) {
  return ElementsOf<T>(arguments.Get("operands").As<Napi::Array>().Get(k));
}

TEST_CASE_TEMPLATE("run computes the operation of its number", T, float, double) {
  ExecutorCalls<T> calls;
  for (const OperationCase& each : AllCases()) {
    const Napi::Object arguments = ArgumentsOfCase(calls, each);
    CAPTURE(static_cast<int>(each.operation));
    calls.Run("run", arguments);
    for (uint32_t k = 0; k < each.operands.size(); k++) {
      // Results, then operands that were read and not written.
      const bool is_result = k < each.expected.size();
      CHECK(IsNear(OperandOf<T>(arguments, k), is_result ? each.expected[k] : each.operands[k]));
    }
  }
}

TEST_CASE("run of weight decay without a mask shrinks every element") {
  ExecutorCalls<double> calls;
  const Napi::Object arguments = ArgumentsOfCase(calls, {Operation::kWeightDecay, {{10, -4}, {1, 1}}, {0.5}, {}, {}});
  arguments.Get("operands").As<Napi::Array>().Set(1u, calls.env.Null());
  calls.Run("run", arguments);
  CHECK(OperandOf<double>(arguments, 0) == std::vector<double>{5, -2});
}

TEST_CASE("run refuses operands of another number of elements than was checked, and of another type; writes nothing") {
  ExecutorCalls<double> calls;
  for (const OperationCase& each : AllCases()) {
    for (uint32_t k = 0; k < each.operands.size(); k++) {
      CAPTURE(static_cast<int>(each.operation));
      CAPTURE(k);
      const auto refuses = [&](const Napi::Value& wrong, const char* code) {
        const Napi::Object arguments = ArgumentsOfCase(calls, each);
        const auto operands = arguments.Get("operands").As<Napi::Array>();
        if (wrong.IsEmpty()) {
          Transfer(operands.Get(k).As<Napi::Object>());
        } else {
          operands.Set(k, wrong);
        }
        CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == code);
        if (k == 0) return;
        const std::vector<double> first = OperandOf<double>(arguments, 0);
        CHECK((std::isnan(first[0]) || first == each.operands[0]));
      };
      refuses({}, kTransferred);
      refuses(calls.Array<double>(std::vector<double>(each.operands[k].size() + 1)), kTransferred);
      refuses(calls.Array<float>(std::vector<float>(each.operands[k].size())), kDtype);
    }
  }
}

TEST_CASE("run refuses integers that were transferred, are of another number or another type, and writes nothing") {
  ExecutorCalls<double> calls;
  for (const OperationCase& each : AllCases()) {
    if (each.integers.empty()) continue;
    CAPTURE(static_cast<int>(each.operation));
    const Napi::Object arguments = ArgumentsOfCase(calls, each);
    Transfer(arguments.Get("integers").As<Napi::Object>());
    CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == kTransferred);
    arguments.Set("integers", calls.Array<int32_t>({1}));
    CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == kTransferred);
    arguments.Set("integers", calls.Array<double>({3, 2}));
    CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == kDtype);
    const std::vector<double> first = OperandOf<double>(arguments, 0);
    CHECK((std::isnan(first[0]) || first == each.operands[0]));
  }
}

TEST_CASE("run refuses ids beyond the classes, and absent ones, and writes nothing") {
  ExecutorCalls<double> calls;
  for (OperationCase each : AllCases()) {
    const bool has_ids = each.operation == Operation::kEmbedding || each.operation == Operation::kEmbeddingGradient ||
                         each.operation == Operation::kSoftmaxCrossEntropy;
    if (!has_ids) continue;
    const auto refuses = [&](const Napi::Object& arguments) {
      CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == kTransferred);
      const std::vector<double> first = OperandOf<double>(arguments, 0);
      CHECK((std::isnan(first[0]) || first == each.operands[0]));
    };
    for (const int32_t id : {3, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      each.integers.back() = id;
      refuses(ArgumentsOfCase(calls, each));
    }
    const Napi::Object none = ArgumentsOfCase(calls, each);
    none.Set("integers", calls.env.Null());
    refuses(none);
  }
}

TEST_CASE("run of an embedding of no ids writes nothing") {
  ExecutorCalls<float> calls;
  for (const Operation operation : {Operation::kEmbedding, Operation::kEmbeddingGradient}) {
    const bool is_gradient = operation == Operation::kEmbeddingGradient;
    const std::vector<std::vector<double>> operands = {is_gradient ? std::vector<double>{1, 2} : std::vector<double>{},
                                                       is_gradient ? std::vector<double>{} : std::vector<double>{1, 2}};
    const Napi::Object arguments = ArgumentsOfCase(calls, {operation, operands, {2, 1, 0}, {}, {}});
    CHECK(ErrorOf([&] { calls.Run("run", arguments); }).empty());
    CHECK(OperandOf<float>(arguments, is_gradient ? 0 : 1) == std::vector<float>{1, 2});
  }
}

TEST_CASE("run refuses counts of another number of operands") {
  ExecutorCalls<double> calls;
  const Napi::Object arguments = ArgumentsOfCase(calls, kRows[0]);
  arguments.Set("counts", calls.Array<double>({6, 4, 6, 3}));
  CHECK(ErrorOf([&] { calls.Run("run", arguments); }) == kTransferred);
}

// A job of tensors of any shape: its operands, the result first, and the numbers of its rule and its walks.
template <typename T>
Napi::Object TensorJob(const ExecutorCalls<T>& calls, const std::vector<std::vector<T>>& operands, double rule,
                       const std::vector<double>& walks) {
  std::vector<Napi::Value> arrays;
  std::vector<double> numbers{rule};
  for (const auto& operand : operands) {
    arrays.push_back(calls.Array(operand));
    numbers.push_back(static_cast<double>(operand.size()));
  }
  numbers.insert(numbers.end(), walks.begin(), walks.end());
  return calls.ObjectOf({{"operands", ListOf(calls, arrays)}, {"numbers", calls.Array(numbers)}});
}

// Two rows of three: y, then a column, then a row.
const std::vector<double> kTwoByThree{1, 1, 2, 3, 0, 0, 0, 3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
// y of three from x [2,3], and the walk down a column.
const std::vector<double> kDownColumns{1, 1, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 0, 3};

TEST_CASE_TEMPLATE("elements, reduce and products run by their walks", T, float, double) {
  ExecutorCalls<T> calls;
  const auto result = [](const Napi::Object& job) {
    return ElementsOf<T>(job.Get("operands").As<Napi::Array>().Get(0u));
  };
  const Napi::Object sum = TensorJob<T>(calls, {{0, 0, 0, 0, 0, 0}, {10, 20}, {1, 2, 3}}, 1, kTwoByThree);
  calls.Run("elements", sum);
  CHECK(IsNear(result(sum), {11, 12, 13, 21, 22, 23}));
  const Napi::Object columns = TensorJob<T>(calls, {{0, 0, 0}, {1, 2, 3, 4, 5, 9}}, 1, kDownColumns);
  calls.Run("reduce", columns);
  CHECK(IsNear(result(columns), {2.5, 3.5, 6}));
  // Two products of [1,2]·[2,1], whose right factor is the same.
  const Napi::Object products =
      calls.ObjectOf({{"c", calls.template Array<T>({8, 8})},
                      {"a", calls.template Array<T>({1, 2, 3, 4})},
                      {"b", calls.template Array<T>({5, 6})},
                      {"sizes", calls.template Array<double>({2., 1., 2., 0., 1., 1., 2., 0., 0.})}});
  calls.Run("products", products);
  CHECK(IsNear(ElementsOf<T>(products.Get("c")), {17, 39}));
}

TEST_CASE("elements and reduce refuse operands of another number of elements than was checked, and fewer numbers") {
  ExecutorCalls<double> calls;
  for (const uint32_t k : {0u, 1u}) {
    const Napi::Object job = TensorJob<double>(calls, {{0, 0, 0}, {1, 2, 3, 4, 5, 9}}, 1, kDownColumns);
    Transfer(job.Get("operands").As<Napi::Array>().Get(k).As<Napi::Object>());
    CHECK(ErrorOf([&] { calls.Run("reduce", job); }) == kTransferred);
  }
  for (const char* const name : {"elements", "reduce"}) {
    const Napi::Object job = TensorJob<double>(calls, {{0}, {1}}, 0, {1, 1, 1, 1});
    CHECK(ErrorOf([&] { calls.Run(name, job); }) == kTransferred);
  }
  const Napi::Object products = calls.ObjectOf({{"c", calls.Array<double>({0., 0.})},
                                                {"a", calls.Array<double>({1., 2., 3., 4.})},
                                                {"b", calls.Array<double>({5.})},
                                                {"sizes", calls.Array<double>({2., 1., 2., 0., 1., 1., 2., 0., 0.})}});
  CHECK(ErrorOf([&] { calls.Run("products", products); }) == kTransferred);
}

struct Refusal {
  const char* operation;
  std::function<Napi::Object(const ExecutorCalls<float>&)> arguments;
  std::vector<const char*> floats, integers, doubles;
  std::vector<const char*> results;
};

// Operations with named arrays.
const std::vector<Refusal> kNamed = {
    {"addProduct", AddProduct<float>, {"c", "a", "b"}, {}, {"layout"}, {"c"}},
    {"ctcLoss",
     Ctc<float>,
     {"logits", "rowLosses", "gradient", "loss"},
     {"labels", "labelLengths", "logitLengths"},
     {"rowWeights"},
     {"rowLosses", "gradient", "loss"}},
};

TEST_CASE(
    "an operation refuses each of its arrays that was transferred, and each of another type, and writes nothing") {
  ExecutorCalls<float> calls;
  for (const Refusal& each : kNamed) {
    CAPTURE(each.operation);
    const auto unchanged = [&](const Napi::Object& arguments, const std::string& changed) {
      const Napi::Object fresh = each.arguments(calls);
      for (const char* result : each.results) {
        if (result != changed) CHECK(ElementsOf<float>(arguments, result) == ElementsOf<float>(fresh, result));
      }
    };
    const auto refuses = [&](const char* name, const Napi::Object& of_other_type) {
      CAPTURE(name);
      const Napi::Object transferred = each.arguments(calls);
      Transfer(transferred.Get(name).As<Napi::Object>());
      CHECK(ErrorOf([&] { calls.Call(calls.executor, each.operation, transferred); }) == kTransferred);
      unchanged(transferred, name);
      const Napi::Object mistyped = each.arguments(calls);
      mistyped.Set(name, of_other_type);
      CHECK(ErrorOf([&] { calls.Call(calls.executor, each.operation, mistyped); }) == kDtype);
      unchanged(mistyped, name);
    };
    for (const char* name : each.floats) refuses(name, calls.Array<double>({1}));
    for (const char* name : each.integers) refuses(name, calls.Array<float>({1}));
    for (const char* name : each.doubles) refuses(name, calls.Array<float>({1}));
  }
}

}  // namespace
}  // namespace cudnn_rnn
