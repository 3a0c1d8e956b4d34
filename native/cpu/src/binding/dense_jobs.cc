#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "arguments.h"
#include "binding/job.h"
#include "dense/ctc_loss.h"
#include "dense/dense_ops.h"
#include "dense/layer_ops.h"
#include "dense/optimizer_updates.h"
#include "dense/tensor_ops.h"

namespace cudnn_rnn {
namespace {

// Moving an element costs as much as this many multiply-adds. The estimate decides only whether JavaScript's thread
// runs a brief job itself (JobQueue::RunOrPush) or queues it.
constexpr double kOperationsPerMove = 16;

// linear({ input, kernel, bias, rows, inputs, outputs, output })
// output [N,out] = bias + input [N,in] · kernel [in,out]. Like every job here: arguments are read and checked on
// JavaScript's thread, and `run` captures addresses only, which the object of arguments keeps valid.
template <typename T>
Job LinearJob(const JobContext& context, const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t inputs = Size(arguments, "inputs");
  const ptrdiff_t outputs = Size(arguments, "outputs");
  const T* input = Required<T>(arguments, "input", rows * inputs);
  const T* kernel = Required<T>(arguments, "kernel", inputs * outputs);
  const T* bias = Required<T>(arguments, "bias", outputs);
  T* output = Required<T>(arguments, "output", rows * outputs);
  const auto run = [=, engine = context.core->engine<T>()] {
    Multiply<T>(engine, {input, inputs, 1}, {kernel, outputs, 1}, bias, output, rows, inputs, outputs);
  };
  return {run, 2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs)};
}

// linearGradients({ input, kernel, dOutput, rows, inputs, outputs, dInput, dKernel, dBias })
// With dY = dOutput:  dInput = dY·kernelᵀ   dKernel = inputᵀ·dY   dBias = Σ rows of dY. The transposes are strides, not
// copies.
template <typename T>
Job LinearGradientsJob(const JobContext& context, const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t inputs = Size(arguments, "inputs");
  const ptrdiff_t outputs = Size(arguments, "outputs");
  const T* input = Required<T>(arguments, "input", rows * inputs);
  const T* kernel = Required<T>(arguments, "kernel", inputs * outputs);
  const T* d_output = Required<T>(arguments, "dOutput", rows * outputs);
  T* d_input = Required<T>(arguments, "dInput", rows * inputs);
  T* d_kernel = Required<T>(arguments, "dKernel", inputs * outputs);
  T* d_bias = Required<T>(arguments, "dBias", outputs);
  // An operand is {data, row stride, column stride}: {kernel, 1, outputs} is kernelᵀ.
  const auto run = [=, engine = context.core->engine<T>()] {
    Multiply<T>(engine, {d_output, outputs, 1}, {kernel, 1, outputs}, nullptr, d_input, rows, outputs, inputs);
    Multiply<T>(engine, {input, 1, inputs}, {d_output, outputs, 1}, nullptr, d_kernel, inputs, rows, outputs);
    SumRows(d_output, d_bias, rows, outputs);
  };
  return {run};
}

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

// embedding({ table, ids, columns, output }), and embeddingGradient of the same
// output [...,E] = table rows at ids; as a gradient, table rows += output.
template <typename T, bool is_gradient>
Job EmbeddingJob(const JobContext&, const Napi::Object& arguments) {
  const ptrdiff_t columns = Size(arguments, "columns");
  // Every id is checked against the table before anything is written: an id is an address.
  const auto [ids, count] = Span<int32_t>(arguments.Get("ids"));
  T* output = Required<T>(arguments, "output", count * columns);
  const auto [table, table_count] = Span<T>(arguments.Get("table"));
  for (ptrdiff_t n = 0; n < count; n++) {
    if (ids[n] < 0 || (ids[n] + ptrdiff_t{1}) * columns > table_count) {
      ThrowCount(arguments.Env(), "table", (ids[n] + ptrdiff_t{1}) * columns, table_count);
    }
  }
  const auto run = [=, ids = ids, count = count, table = table] {
    for (ptrdiff_t n = 0; n < count; n++) {
      T* row = table + ids[n] * columns;
      T* out = output + n * columns;
      if (is_gradient) {
        for (ptrdiff_t k = 0; k < columns; k++) row[k] += out[k];
      } else {
        std::copy_n(row, columns, out);
      }
    }
  };
  // A gather has no dependency between rows; a scatter does.
  // Rows that ids repeat are added one after another: on the queue, in order.
  if (is_gradient) return {run};
  return {run, kOperationsPerMove * static_cast<double>(count * columns)};
}

// softmaxCrossEntropy({ logits, labels, weights, rows, classes, loss, gradient })
// The loss and its gradient in one pass over the logits, as both need the same exponentials.
// loss is a scalar tensor of one element. Labels were checked against `classes` in TypeScript (CheckedDenseOps).
template <typename T>
Job SoftmaxCrossEntropyJob(const JobContext& context, const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t classes = Size(arguments, "classes");
  const T* logits = Required<T>(arguments, "logits", rows * classes);
  const int32_t* labels = Required<int32_t>(arguments, "labels", rows);
  const T* weights = Elements<T>(arguments, "weights", rows);
  T* loss = Required<T>(arguments, "loss", 1);
  T* gradient = Required<T>(arguments, "gradient", rows * classes);
  const auto run = [=, engine = context.core->engine<T>()] {
    *loss = SoftmaxCrossEntropy(engine, logits, labels, weights, gradient, rows, classes);
  };
  return {run};
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

// update({ rule: number, operands: array[], numbers: Float64Array }); rules: dense/optimizer_updates.h
// Elementwise, so the time is the memory traffic's: Adam reads four arrays and writes three.
// operands: the variable, its slots, then gradient, source or mask, all of one size. One job serves all rules: a new
// rule is a case of ApplyUpdate.
template <typename T>
Job UpdateJob(const JobContext& context, const Napi::Object& arguments) {
  UpdateOperands<T> update{};
  const Napi::Array operands = arguments.Get("operands").As<Napi::Array>();
  // Operands written and read have one shape; only a mask may be left out.
  const ptrdiff_t count = Span<T>(operands.Get(uint32_t{0})).count;
  // Elements past the fixed-size array are not read; TypeScript passes the table's number of operands.
  for (uint32_t k = 0; k < operands.Length() && k < kMaxOperands; k++) {
    update.data[k] = Elements<T>(operands.Get(k), "an operand of an update", count);
  }
  const ElementSpan<double> numbers = Span<double>(arguments.Get("numbers"));
  for (ptrdiff_t k = 0; k < numbers.count && k < static_cast<ptrdiff_t>(kMaxNumbers); k++) {
    update.numbers[k] = numbers.data[k];
  }
  const auto rule = static_cast<UpdateRule>(static_cast<int>(Number(arguments, "rule")));
  const auto run = [=, engine = context.core->engine<T>()] {
    ForEach(engine, count, kElementwisePart,
            [&](ptrdiff_t begin, ptrdiff_t end) { ApplyUpdate(rule, update, begin, end); });
  };
  return {run};
}

// layer({ op: number, operands: array[], counts: Float64Array, lengths: Int32Array | null, numbers: Float64Array });
// counts: elements of each operand; operations: dense/layer_ops.h
// One job serves all operations on layers: a new one is a case of RunLayerOp.
// The operands and numbers of each operation are in packages/cpu/src/native_addon.ts; `counts` are their numbers of
// elements, which Elements() compares with the arrays.
template <typename T>
Job LayerJob(const JobContext& context, const Napi::Object& arguments) {
  LayerOperands<T> layer{};
  const Napi::Array operands = arguments.Get("operands").As<Napi::Array>();
  const ElementSpan<double> counts = Span<double>(arguments.Get("counts"));
  double elements = 0;
  for (uint32_t k = 0; k < operands.Length() && k < kMaxLayerOperands; k++) {
    layer.data[k] = Elements<T>(operands.Get(k), "an operand of a layer", static_cast<ptrdiff_t>(counts.data[k]));
    elements += counts.data[k];
  }
  const ElementSpan<double> numbers = Span<double>(arguments.Get("numbers"));
  for (ptrdiff_t k = 0; k < numbers.count && k < static_cast<ptrdiff_t>(kMaxLayerNumbers); k++) {
    layer.numbers[k] = numbers.data[k];
  }
  // Every operation with lengths has the numbers time, batch, columns first.
  layer.lengths = Elements<int32_t>(arguments, "lengths", layer.size(1));
  const auto op = static_cast<LayerOp>(static_cast<int>(Number(arguments, "op")));
  const auto run = [=, engine = context.core->engine<T>()] { RunLayerOp(engine, op, layer); };
  // These operations are bound by memory, not by multiply-adds.
  return {run, kOperationsPerMove * elements};
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
      {"linear", LinearJob<float>, LinearJob<double>},
      {"linearGradients", LinearGradientsJob<float>, LinearGradientsJob<double>},
      {"embedding", EmbeddingJob<float, false>, EmbeddingJob<double, false>},
      {"embeddingGradient", EmbeddingJob<float, true>, EmbeddingJob<double, true>},
      {"softmaxCrossEntropy", SoftmaxCrossEntropyJob<float>, SoftmaxCrossEntropyJob<double>},
      {"ctcLoss", CtcLossJob<float>, CtcLossJob<double>},
      {"norm", NormJob<float>, NormJob<double>},
      {"update", UpdateJob<float>, UpdateJob<double>},
      {"layer", LayerJob<float>, LayerJob<double>},
      {"elements", ElementsJob<float>, ElementsJob<double>},
      {"reduce", ReduceJob<float>, ReduceJob<double>},
      {"products", ProductsJob<float>, ProductsJob<double>},
      {"addProduct", AddProductJob<float>, AddProductJob<double>, true},
  };
  return readers;
}

}  // namespace cudnn_rnn
