#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "arguments.h"
#include "binding/job.h"
#include "dense/ctc_loss.h"
#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "dense/tensor_ops.h"

namespace cudnn_rnn {
namespace {

// Moving an element costs as much as this many multiply-adds. The estimate decides only whether JavaScript's thread
// runs a brief job itself (JobQueue::RunOrPush) or queues it.
constexpr double kOperationsPerMove = 16;

// The first element of a matrix inside a typed array.
template <typename T>
T* MatrixOf(const Napi::Object& arguments, const char* name, const double* layout, double rows, double columns) {
  const ElementSpan<T> span = Span<T>(arguments.Get(name));
  // The largest index that the product touches. In double: the layout comes from JavaScript, and an integer product
  // could overflow before the comparison.
  const double last = layout[0] + (rows - 1) * layout[1] + (columns - 1) * layout[2];
  const bool is_inside = layout[0] >= 0 && layout[1] >= 0 && layout[2] >= 0 && last < static_cast<double>(span.count);
  if (!is_inside) ThrowCount(arguments.Env(), name, static_cast<ptrdiff_t>(last) + 1, span.count);
  return span.data + static_cast<ptrdiff_t>(layout[0]);
}

// addProduct({ c, a, b, layout: Float64Array }); layout: offset, row stride and column stride of c, a and b, then the
// rows
//   and columns of c and the depth. Throws if a matrix leaves its array.
// c += a·b for views of arrays: any offset and strides, so JavaScript passes transposes and blocks without copies.
template <typename T>
Job AddProductJob(const JobContext& context, const Napi::Object& arguments) {
  // Offset, row stride and column stride of c, a and b, then rows, columns, depth: one typed array instead of twelve
  // properties, as a call of a small product is dominated by reading properties.
  constexpr ptrdiff_t kLayoutNumbers = 12;
  const double* layout = Required<double>(arguments, "layout", kLayoutNumbers);
  const double rows = layout[9];
  const double columns = layout[10];
  const double depth = layout[11];
  // An empty product adds nothing. The negated form is also true for a NaN in the layout.
  if (!(rows >= 1 && columns >= 1 && depth >= 1)) return {[] {}, 0};
  T* c = MatrixOf<T>(arguments, "c", layout, rows, columns);
  const T* a = MatrixOf<T>(arguments, "a", layout + 3, rows, depth);
  const T* b = MatrixOf<T>(arguments, "b", layout + 6, depth, columns);
  const auto stride = [&](int k) { return static_cast<ptrdiff_t>(layout[k]); };
  const Operand<T> left{a, stride(4), stride(5)};
  const Operand<T> right{b, stride(7), stride(8)};
  const auto run = [=, c_stride = stride(1), engine = context.core->engine<T>()] {
    AddProduct<T>(engine, left, right, c, c_stride, static_cast<ptrdiff_t>(rows), static_cast<ptrdiff_t>(depth),
                  static_cast<ptrdiff_t>(columns));
  };
  return {run, 2 * rows * columns * depth};
}

// ctcLoss({ logits, labels, labelLengths, logitLengths, rowWeights: Float64Array, time, batch, classes, maxLabels,
// blank,
//   mergeRepeated, infeasible: number, loss, rowLosses, gradient }); infeasible: dense/ctc_loss.h
// Shapes: logits and gradient [T,B,K], labels [B,S], both lengths and both row arrays [B].
template <typename T>
Job CtcLossJob(const JobContext& context, const Napi::Object& arguments) {
  CtcProblem<T> problem{};
  problem.time = Size(arguments, "time");
  problem.batch = Size(arguments, "batch");
  problem.classes = Size(arguments, "classes");
  problem.max_labels = Size(arguments, "maxLabels");
  const ptrdiff_t count = problem.time * problem.batch * problem.classes;
  problem.logits = Required<T>(arguments, "logits", count);
  problem.labels = Required<int32_t>(arguments, "labels", problem.batch * problem.max_labels);
  problem.label_lengths = Required<int32_t>(arguments, "labelLengths", problem.batch);
  problem.logit_lengths = Required<int32_t>(arguments, "logitLengths", problem.batch);
  problem.row_weights = Required<double>(arguments, "rowWeights", problem.batch);
  problem.blank = static_cast<int32_t>(Number(arguments, "blank"));
  problem.merge_repeated = Flag(arguments, "mergeRepeated");
  problem.infeasible = static_cast<InfeasibleRows>(static_cast<int>(Number(arguments, "infeasible")));
  problem.row_losses = Required<T>(arguments, "rowLosses", problem.batch);
  problem.gradient = Required<T>(arguments, "gradient", count);
  T* loss = Required<T>(arguments, "loss", 1);
  const auto run = [=, engine = context.core->engine<T>(), core = context.core] {
    *loss = CtcLoss(engine, core->kernels->ctc, problem);
  };
  return {run};
}

// norm({ tensors: array[], maxNorm: number, norm }): scales the tensors down to maxNorm if that is finite
// Clipping by the global norm (Pascanu, Mikolov and Bengio 2013, https://proceedings.mlr.press/v28/pascanu13.html), as
// tf.clip_by_global_norm.
// The global norm of all tensors, and their scaling if it exceeds maxNorm.
template <typename T>
Job NormJob(const JobContext& context, const Napi::Object& arguments) {
  const Napi::Array list = arguments.Get("tensors").As<Napi::Array>();
  // The list is read now, as JavaScript may change it before the job runs; its arrays stay alive by the object of
  // arguments.
  std::vector<std::pair<T*, ptrdiff_t>> tensors;
  for (uint32_t k = 0; k < list.Length(); k++) {
    const ElementSpan<T> tensor = Span<T>(list.Get(k));
    tensors.emplace_back(tensor.data, tensor.count);
  }
  T* result = Required<T>(arguments, "norm", 1);
  const double max_norm = Number(arguments, "maxNorm");
  const auto run = [=, engine = context.core->engine<T>()] {
    // tf.clip_by_global_norm: every tensor · maxNorm / max(norm, maxNorm).
    const double norm = Norm(tensors);
    *result = static_cast<T>(norm);
    // A norm that is not finite leaves the tensors as they are, for the caller to see.
    if (!(norm > max_norm) || !std::isfinite(norm)) return;
    const T scale = static_cast<T>(max_norm / norm);
    for (const auto& [data, count] : tensors) {
      ForEach(engine, count, kElementwisePart, [data = data, scale](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t k = begin; k < end; k++) data[k] *= scale;
      });
    }
  };
  return {run};
}

// Multiply-adds of an operation, for the choice of its thread. Those of training alone are queued.
template <typename T>
double CostOf(Operation operation, const OperationOperands<T>& on, double elements) {
  if (operation == Operation::kLinear) return 2 * on.numbers[0] * on.numbers[1] * on.numbers[2];
  if (operation == Operation::kEmbedding) return kOperationsPerMove * static_cast<double>(on.count);
  if (operation >= Operation::kLinearGradients) return std::numeric_limits<double>::infinity();
  // Bound by memory, not by multiply-adds.
  return kOperationsPerMove * elements;
}

// Whether the integers are class ids, of as many classes as the second number says, and not lengths.
bool HasIds(Operation operation) {
  return operation == Operation::kEmbedding || operation == Operation::kEmbeddingGradient ||
         operation == Operation::kSoftmaxCrossEntropy;
}

// run({ op: number, operands: array[], counts: Float64Array, integers: Int32Array | null, numbers: Float64Array });
// operations, operands and numbers: dense/operations.h; counts: elements of each operand, then of the integers
// Like every job here: arguments are read and checked on JavaScript's thread, and `run` captures addresses only, which
// the object of arguments keeps valid.
template <typename T>
Job OperationJob(const JobContext& context, const Napi::Object& arguments) {
  OperationOperands<T> on{};
  const auto operation = static_cast<Operation>(static_cast<int>(Number(arguments, "op")));
  const Napi::Array operands = arguments.Get("operands").As<Napi::Array>();
  const uint32_t last = operands.Length();
  const double* counts = Required<double>(arguments, "counts", ptrdiff_t{last} + 1);
  double elements = 0;
  for (uint32_t k = 0; k < last && k < kMaxOperands; k++) {
    on.data[k] = Elements<T>(operands.Get(k), "an operand", static_cast<ptrdiff_t>(counts[k]));
    elements += counts[k];
  }
  on.count = static_cast<ptrdiff_t>(counts[0]);
  const ElementSpan<double> numbers = Span<double>(arguments.Get("numbers"));
  std::copy_n(numbers.data, std::min<ptrdiff_t>(numbers.count, kMaxNumbers), on.numbers);
  const auto integers = static_cast<ptrdiff_t>(counts[last]);
  on.integers = Elements<int32_t>(arguments, "integers", integers);
  // An id is an address: all are checked before anything is written.
  for (ptrdiff_t k = 0; HasIds(operation) && k < integers; k++) {
    const int32_t id = on.integers == nullptr ? -1 : on.integers[k];
    if (id < 0 || id >= on.size(1)) ThrowCount(arguments.Env(), "a table", ptrdiff_t{id} + 1, on.size(1));
  }
  const auto run = [=, engine = context.core->engine<T>()] { RunOperation(engine, operation, on); };
  return {run, CostOf(operation, on, elements)};
}

// The arguments of elements and reduce: the number of a rule, the operands, the result first, each with the number of
// elements that its shape was checked for, and walks within these.
template <typename T>
struct TensorArguments {
  int rule;
  int count;
  T* data[kWalkGroups] = {};
  const double* walks;
  double elements = 0;

  // numbers: rule, elements of each operand, then `walk_numbers`.
  TensorArguments(const Napi::Object& arguments, const std::function<ptrdiff_t(int)>& walk_numbers) {
    const Napi::Array operands = arguments.Get("operands").As<Napi::Array>();
    count = static_cast<int>(std::min<uint32_t>(operands.Length(), kWalkGroups));
    const double* numbers = Required<double>(arguments, "numbers", 1 + count + walk_numbers(count));
    rule = static_cast<int>(numbers[0]);
    for (int k = 0; k < count; k++) {
      data[k] =
          Elements<T>(operands.Get(static_cast<uint32_t>(k)), "an operand", static_cast<ptrdiff_t>(numbers[1 + k]));
      elements += numbers[1 + k];
    }
    walks = numbers + 1 + count;
  }
};

// elements({ operands: array[], numbers: Float64Array }); numbers: the function, elements of each operand, the walk
template <typename T>
Job ElementsJob(const JobContext& context, const Napi::Object& arguments) {
  const TensorArguments<T> of(arguments, WalkNumbers);
  const Walk walk = ReadWalk(of.walks, of.count);
  const auto run = [=, engine = context.core->engine<T>()] {
    ApplyToElements<T>(engine, static_cast<ElementFunction>(of.rule), walk, of.data[0], of.data[1], of.data[2],
                       of.data[3]);
  };
  return {run, kOperationsPerMove * of.elements};
}

// reduce({ operands: array[], numbers: Float64Array }); numbers: the reduction, elements of y and x, the walk over
// both, and that over x
template <typename T>
Job ReduceJob(const JobContext& context, const Napi::Object& arguments) {
  const TensorArguments<T> of(arguments, [](int) { return WalkNumbers(2) + WalkNumbers(1); });
  const Walk outer = ReadWalk(of.walks, 2), inner = ReadWalk(of.walks + WalkNumbers(2), 1);
  const auto run = [=, engine = context.core->engine<T>()] {
    Reduce<T>(engine, static_cast<Reduction>(of.rule), outer, inner, of.data[0], of.data[1]);
  };
  return {run, kOperationsPerMove * of.elements};
}

// products({ c, a, b, sizes: Float64Array }); sizes: the fields of Products in their order
// c = a·b
template <typename T>
Job ProductsJob(const JobContext& context, const Napi::Object& arguments) {
  constexpr ptrdiff_t kSizes = 9;
  const double* sizes = Required<double>(arguments, "sizes", kSizes);
  const auto size = [&](int k) { return static_cast<ptrdiff_t>(sizes[k]); };
  const Products of{size(0), size(1), size(2), size(3), size(4), size(5), size(6), sizes[7] != 0, sizes[8] != 0};
  // The elements from the first to the last matrix.
  const auto elements = [&](ptrdiff_t step, ptrdiff_t matrix) {
    return of.count == 0 ? 0 : (of.count - 1) * step + matrix;
  };
  T* c = Required<T>(arguments, "c", elements(of.c_step, of.rows * of.columns));
  const T* a = Required<T>(arguments, "a", elements(of.a_step, of.rows * of.inner));
  const T* b = Required<T>(arguments, "b", elements(of.b_step, of.inner * of.columns));
  const auto run = [=, engine = context.core->engine<T>()] { MultiplyEach<T>(engine, of, c, a, b); };
  return {run, 2 * sizes[0] * sizes[4] * sizes[5] * sizes[6]};
}

}  // namespace

const std::vector<JobReader>& DenseJobs() {
  static const std::vector<JobReader> readers = {
      {"ctcLoss", CtcLossJob<float>, CtcLossJob<double>},
      {"norm", NormJob<float>, NormJob<double>},
      {"run", OperationJob<float>, OperationJob<double>},
      {"elements", ElementsJob<float>, ElementsJob<double>},
      {"reduce", ReduceJob<float>, ReduceJob<double>},
      {"products", ProductsJob<float>, ProductsJob<double>},
      {"addProduct", AddProductJob<float>, AddProductJob<double>, true},
  };
  return readers;
}

}  // namespace cudnn_rnn
