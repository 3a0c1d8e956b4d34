#include "executor_object.h"

#include <cmath>
#include <string>
#include <utility>

#include "arguments.h"
#include "dense_ops.h"
#include "isa.h"
#include "network_object.h"
#include "optimizer_updates.h"
#include "rnn_backward.h"
#include "rnn_forward.h"

namespace cudnn_rnn {
namespace {

// What moving an element costs beside a multiplication.
constexpr double kOperationsPerMove = 16;

const Kernels* KernelsNamed(const std::string& name) {
  for (const Kernels* kernels : SupportedKernels()) {
    if (kernels->name == name) return kernels;
  }
  return nullptr;
}

}  // namespace

Napi::Function ExecutorObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeExecutor",
                     {
                         InstanceMethod<&ExecutorObject::Describe>("describe"),
                         InstanceMethod<&ExecutorObject::Forward>("forward"),
                         InstanceMethod<&ExecutorObject::Backward>("backward"),
                         InstanceMethod<&ExecutorObject::Narrow>("narrow"),
                         InstanceMethod<&ExecutorObject::Linear>("linear"),
                         InstanceMethod<&ExecutorObject::LinearGradients>("linearGradients"),
                         InstanceMethod<&ExecutorObject::Embedding>("embedding"),
                         InstanceMethod<&ExecutorObject::EmbeddingGradient>("embeddingGradient"),
                         InstanceMethod<&ExecutorObject::SoftmaxCrossEntropyOf>("softmaxCrossEntropy"),
                         InstanceMethod<&ExecutorObject::NormOf>("norm"),
                         InstanceMethod<&ExecutorObject::Update>("update"),
                         InstanceMethod<&ExecutorObject::ResultBuffer>("resultBuffer"),
                         InstanceMethod<&ExecutorObject::Completed>("completed"),
                         InstanceMethod<&ExecutorObject::Done>("done"),
                         InstanceMethod<&ExecutorObject::Wait>("wait"),
                         InstanceMethod<&ExecutorObject::Close>("close"),
                     });
}

// new NativeExecutor(instructionSet: string, threads: number, float64: boolean)
ExecutorObject::ExecutorObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ExecutorObject>(info), env_(info.Env()) {
  const Kernels* kernels = KernelsNamed(info[0].ToString().Utf8Value());
  if (kernels == nullptr) throw Napi::Error::New(env_, "Cannot open the executor as this processor lacks the instruction set");
  core_ = std::make_shared<ExecutorCore>(kernels, info[1].ToNumber().Int32Value(), info[2].ToBoolean().Value());
  const auto settle = [](napi_env env, napi_value, void* context, void*) {
    // A closing environment calls back without one.
    if (env != nullptr) static_cast<ExecutorObject*>(context)->Settle();
  };
  const napi_status status =
      napi_create_threadsafe_function(env_, nullptr, nullptr, Napi::String::New(env_, "cudnn_rnn_cpu"), 0, 1, nullptr,
                                      nullptr, this, settle, &notify_);
  if (status != napi_ok) throw Napi::Error::New(env_, "Cannot open the executor as Node.js gave it no way to call back");
  napi_unref_threadsafe_function(env_, notify_);
  queue_ = std::make_unique<JobQueue>(
      [notify = notify_] { napi_call_threadsafe_function(notify, nullptr, napi_tsfn_nonblocking); });
  // Work in flight reads JavaScript's memory: it must end before the environment does.
  napi_add_env_cleanup_hook(env_, StopAtExit, this);
}

ExecutorObject::~ExecutorObject() {
  napi_remove_env_cleanup_hook(env_, StopAtExit, this);
  Stop();
}

void ExecutorObject::Stop() {
  if (notify_ == nullptr) return;
  queue_->Stop();
  napi_release_threadsafe_function(std::exchange(notify_, nullptr), napi_tsfn_abort);
}

// close(): drops what is queued; what waits for it is rejected. The threads end.
void ExecutorObject::Close(const Napi::CallbackInfo& info) {
  Stop();
  Settle();
  for (auto& [number, deferred] : std::exchange(waiting_, {})) {
    deferred.Reject(Napi::Error::New(info.Env(), "closed").Value());
  }
  pending_.clear();
  core_.reset();
}

// describe(): { instructionSet: string, threads: number }
Napi::Value ExecutorObject::Describe(const Napi::CallbackInfo& info) {
  Napi::Object description = Napi::Object::New(info.Env());
  description.Set("instructionSet", core_->kernels->name);
  description.Set("threads", core_->pool.size());
  return description;
}

Napi::Value ExecutorObject::Push(const Napi::Object& arguments, std::function<void()> job, double operations) {
  Settle();
  if (operations <= core_->brief_operations()) {
    const uint64_t number = queue_->RunOrPush(std::move(job));
    if (queue_->completed() < number) pending_.push_back({number, Napi::Persistent(arguments)});
    return Napi::Number::New(env_, static_cast<double>(number));
  }
  const uint64_t number = queue_->Push(std::move(job));
  pending_.push_back({number, Napi::Persistent(arguments)});
  return Napi::Number::New(env_, static_cast<double>(number));
}

void ExecutorObject::Settle() {
  const Napi::HandleScope scope(env_);
  for (;;) {
    const uint64_t completed = queue_->completed();
    while (!pending_.empty() && pending_.front().number <= completed) pending_.pop_front();
    while (!waiting_.empty() && waiting_.begin()->first <= completed) {
      const auto [number, deferred] = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      const JobQueue::Failure failure = queue_->FailureOf(number);
      if (failure.message.empty()) {
        deferred.Resolve(Napi::Env(env_).Undefined());
      } else {
        Napi::Error error = Napi::Error::New(env_, failure.message);
        if (failure.is_out_of_memory) error.Set("code", Napi::String::New(env_, "ERR_OUT_OF_MEMORY"));
        deferred.Reject(error.Value());
      }
    }
    if (waiting_.empty()) {
      if (notify_ != nullptr) napi_unref_threadsafe_function(env_, notify_);
      return;
    }
    if (notify_ == nullptr || queue_->Await(waiting_.begin()->first)) return;
  }
}

// resultBuffer(bytes): ArrayBuffer with undefined contents, aligned to a cache line. Its memory is used again once JavaScript
// can reach it no more: pages that are touched for the first time cost more than what is computed into them.
Napi::Value ExecutorObject::ResultBuffer(const Napi::CallbackInfo& info) {
  struct Lent {
    MemoryBlock block;
    std::shared_ptr<BlockCache> cache;
  };
  const auto bytes = static_cast<size_t>(info[0].ToNumber().Int64Value());
  std::unique_ptr<Lent> lent;
  try {
    lent = std::make_unique<Lent>(Lent{core_->results->Take(bytes), core_->results});
  } catch (const std::bad_alloc&) {
    ThrowOutOfMemory(info.Env(), "allocate a result");
  }
  const auto give_back = [](napi_env, void*, void* hint) {
    const std::unique_ptr<Lent> returned(static_cast<Lent*>(hint));
    returned->cache->GiveBack(std::move(returned->block));
  };
  napi_value buffer;
  const napi_status status =
      napi_create_external_arraybuffer(info.Env(), lent->block.data(), bytes, give_back, lent.get(), &buffer);
  if (status == napi_ok) {
    lent.release();
    return Napi::Value(info.Env(), buffer);
  }
  // Where JavaScript may not use memory of others.
  if (status == napi_no_external_buffers_allowed) return Napi::ArrayBuffer::New(info.Env(), bytes);
  throw Napi::Error::New(info.Env());
}

// completed(number): boolean
Napi::Value ExecutorObject::Completed(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
  return Napi::Boolean::New(info.Env(), queue_->completed() >= number);
}

// done(number): Promise<void>
Napi::Value ExecutorObject::Done(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
  const auto deferred = Napi::Promise::Deferred::New(info.Env());
  waiting_.insert({number, deferred});
  napi_ref_threadsafe_function(env_, notify_);
  Settle();
  return deferred.Promise();
}

// wait(number): void
void ExecutorObject::Wait(const Napi::CallbackInfo& info) {
  queue_->Wait(static_cast<uint64_t>(info[0].ToNumber().Int64Value()));
}

// forward({ network, time, batch, input, h, c, params, narrow, lengths, dropoutPosition, output, hFinal, cFinal, tape })
//   : number
// tape: a fresh NativeTape in training, else null; narrow: NativeNarrowWeights that the matrices are read from, or null
Napi::Value ExecutorObject::Forward(const Napi::CallbackInfo& info) {
  return core_->is_double ? ForwardOf<double>(info) : ForwardOf<float>(info);
}

template <typename T>
Napi::Value ExecutorObject::ForwardOf(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  const auto network = NetworkObject::Unwrap(arguments.Get("network").As<Napi::Object>())->network<T>();
  ForwardPass<T> pass{};
  pass.network = network.get();
  pass.time = Size(arguments, "time");
  pass.batch = Size(arguments, "batch");
  const ptrdiff_t rows = pass.time * pass.batch;
  const ptrdiff_t h_size = network->pseudo_layers() * pass.batch * network->columns();
  const ptrdiff_t c_size = network->pseudo_layers() * pass.batch * network->options().units;
  pass.input = Required<T>(arguments, "input", rows * network->options().input_size);
  pass.h = Elements<T>(arguments, "h", h_size);
  pass.c = Elements<T>(arguments, "c", c_size);
  pass.params.data = Required<T>(arguments, "params", network->params_size());
  pass.lengths = Elements<int32_t>(arguments, "lengths", pass.batch);
  pass.dropout_position = static_cast<uint64_t>(Number(arguments, "dropoutPosition"));
  pass.output = Required<T>(arguments, "output", rows * network->output_size());
  pass.h_final = Required<T>(arguments, "hFinal", h_size);
  pass.c_final = network->has_cell_state() ? Required<T>(arguments, "cFinal", c_size) : nullptr;
  std::shared_ptr<Tape<T>> tape;
  const Napi::Value tape_object = arguments.Get("tape");
  if (tape_object.IsObject()) {
    const auto core = core_;
    tape = std::shared_ptr<Tape<T>>(new Tape<T>(), [core](Tape<T>* released) {
      core->blocks.GiveBack(std::move(released->memory));
      delete released;
    });
    tape->time = pass.time;
    tape->batch = pass.batch;
    if (pass.lengths != nullptr) tape->lengths.assign(pass.lengths, pass.lengths + pass.batch);
    pass.tape = tape.get();
    Arena measure(nullptr);
    tape->Carve(*network, &measure);
    tape_object.As<Napi::Object>().Set("bytes", static_cast<double>(measure.used()));
    TapeObject::Unwrap(tape_object.As<Napi::Object>())->tape.set(tape);
  }
  std::shared_ptr<std::unique_ptr<NarrowWeights>> narrow;
  const Napi::Value narrow_object = arguments.Get("narrow");
  if (narrow_object.IsObject()) narrow = NarrowWeightsObject::Unwrap(narrow_object.As<Napi::Object>())->slot;
  const Engine<T> engine = core_->engine<T>(&queue_->cancelled());
  // Every parameter is used once by every step of a row.
  const double operations = 2.0 * static_cast<double>(pass.time * pass.batch) * static_cast<double>(network->params_size());
  return Push(arguments, [engine, pass, network, tape, narrow]() mutable {
    if (narrow != nullptr) pass.params.narrow = narrow->get();
    RunForward(engine, pass);
  }, operations);
}

// backward({ network, input, params, tape, dOutput, dhFinal, dcFinal, dInput, dh, dc, dParams }): number
Napi::Value ExecutorObject::Backward(const Napi::CallbackInfo& info) {
  return core_->is_double ? BackwardOf<double>(info) : BackwardOf<float>(info);
}

template <typename T>
Napi::Value ExecutorObject::BackwardOf(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  const auto network = NetworkObject::Unwrap(arguments.Get("network").As<Napi::Object>())->network<T>();
  const auto tape = TapeObject::Unwrap(arguments.Get("tape").As<Napi::Object>())->tape.get<T>();
  BackwardPass<T> pass{};
  pass.network = network.get();
  pass.tape = tape.get();
  const ptrdiff_t rows = tape->time * tape->batch;
  const ptrdiff_t input_size = rows * network->options().input_size;
  const ptrdiff_t h_size = network->pseudo_layers() * tape->batch * network->columns();
  const ptrdiff_t c_size = network->pseudo_layers() * tape->batch * network->options().units;
  pass.input = Required<T>(arguments, "input", input_size);
  pass.params = Required<T>(arguments, "params", network->params_size());
  pass.d_output = Elements<T>(arguments, "dOutput", rows * network->output_size());
  pass.dh_final = Elements<T>(arguments, "dhFinal", h_size);
  pass.dc_final = Elements<T>(arguments, "dcFinal", c_size);
  pass.d_input = Required<T>(arguments, "dInput", input_size);
  pass.dh = Required<T>(arguments, "dh", h_size);
  pass.dc = network->has_cell_state() ? Required<T>(arguments, "dc", c_size) : nullptr;
  pass.d_params = Required<T>(arguments, "dParams", network->params_size());
  const Engine<T> engine = core_->engine<T>(&queue_->cancelled());
  return Push(arguments, [engine, pass, network, tape] { RunBackward(engine, pass); });
}

// narrow({ network, params, narrow: NativeNarrowWeights, int8: boolean }): number; float32 only
Napi::Value ExecutorObject::Narrow(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  const auto network = NetworkObject::Unwrap(arguments.Get("network").As<Napi::Object>())->network<float>();
  const auto slot = NarrowWeightsObject::Unwrap(arguments.Get("narrow").As<Napi::Object>())->slot;
  const float* params = Required<float>(arguments, "params", network->params_size());
  const WeightFormat format = Flag(arguments, "int8") ? WeightFormat::kInt8 : WeightFormat::kBfloat16;
  return Push(arguments, [=] { *slot = std::make_unique<NarrowWeights>(*network, params, format); });
}

// linear({ input, kernel, bias, rows, inputs, outputs, output }): number
Napi::Value ExecutorObject::Linear(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? LinearJob<double>(arguments) : LinearJob<float>(arguments),
              2 * Number(arguments, "rows") * Number(arguments, "inputs") * Number(arguments, "outputs"));
}

template <typename T>
std::function<void()> ExecutorObject::LinearJob(const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t inputs = Size(arguments, "inputs");
  const ptrdiff_t outputs = Size(arguments, "outputs");
  const T* input = Required<T>(arguments, "input", rows * inputs);
  const T* kernel = Required<T>(arguments, "kernel", inputs * outputs);
  const T* bias = Required<T>(arguments, "bias", outputs);
  T* output = Required<T>(arguments, "output", rows * outputs);
  return [=, engine = core_->engine<T>()] {
    Multiply<T>(engine, {input, inputs, 1}, {kernel, outputs, 1}, bias, output, rows, inputs, outputs);
  };
}

// linearGradients({ input, kernel, dOutput, rows, inputs, outputs, dInput, dKernel, dBias }): number
Napi::Value ExecutorObject::LinearGradients(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? LinearGradientsJob<double>(arguments) : LinearGradientsJob<float>(arguments));
}

template <typename T>
std::function<void()> ExecutorObject::LinearGradientsJob(const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t inputs = Size(arguments, "inputs");
  const ptrdiff_t outputs = Size(arguments, "outputs");
  const T* input = Required<T>(arguments, "input", rows * inputs);
  const T* kernel = Required<T>(arguments, "kernel", inputs * outputs);
  const T* d_output = Required<T>(arguments, "dOutput", rows * outputs);
  T* d_input = Required<T>(arguments, "dInput", rows * inputs);
  T* d_kernel = Required<T>(arguments, "dKernel", inputs * outputs);
  T* d_bias = Required<T>(arguments, "dBias", outputs);
  return [=, engine = core_->engine<T>()] {
    Multiply<T>(engine, {d_output, outputs, 1}, {kernel, 1, outputs}, nullptr, d_input, rows, outputs, inputs);
    Multiply<T>(engine, {input, 1, inputs}, {d_output, outputs, 1}, nullptr, d_kernel, inputs, rows, outputs);
    SumRows(d_output, d_bias, rows, outputs);
  };
}

// embedding({ table, ids, columns, output }): number
Napi::Value ExecutorObject::Embedding(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  const ptrdiff_t count = Span<int32_t>(arguments.Get("ids")).count;
  return Push(arguments, core_->is_double ? EmbeddingJob<double>(arguments, false) : EmbeddingJob<float>(arguments, false),
              kOperationsPerMove * static_cast<double>(count) * Number(arguments, "columns"));
}

// embeddingGradient({ table, ids, columns, output }): number; adds rows of output to those of table
Napi::Value ExecutorObject::EmbeddingGradient(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? EmbeddingJob<double>(arguments, true) : EmbeddingJob<float>(arguments, true));
}

template <typename T>
std::function<void()> ExecutorObject::EmbeddingJob(const Napi::Object& arguments, bool gradient) {
  const ptrdiff_t columns = Size(arguments, "columns");
  const auto [ids, count] = Span<int32_t>(arguments.Get("ids"));
  T* output = Required<T>(arguments, "output", count * columns);
  const auto [table, table_count] = Span<T>(arguments.Get("table"));
  for (ptrdiff_t n = 0; n < count; n++) {
    if (ids[n] < 0 || (ids[n] + ptrdiff_t{1}) * columns > table_count) {
      ThrowCount(arguments.Env(), "table", (ids[n] + ptrdiff_t{1}) * columns, table_count);
    }
  }
  return [=, ids = ids, count = count, table = table] {
    for (ptrdiff_t n = 0; n < count; n++) {
      T* row = table + ids[n] * columns;
      T* out = output + n * columns;
      if (gradient) {
        for (ptrdiff_t k = 0; k < columns; k++) row[k] += out[k];
      } else {
        std::copy_n(row, columns, out);
      }
    }
  };
}

// softmaxCrossEntropy({ logits, labels, weights, rows, classes, loss, gradient }): number
Napi::Value ExecutorObject::SoftmaxCrossEntropyOf(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? SoftmaxJob<double>(arguments) : SoftmaxJob<float>(arguments));
}

template <typename T>
std::function<void()> ExecutorObject::SoftmaxJob(const Napi::Object& arguments) {
  const ptrdiff_t rows = Size(arguments, "rows");
  const ptrdiff_t classes = Size(arguments, "classes");
  const T* logits = Required<T>(arguments, "logits", rows * classes);
  const int32_t* labels = Required<int32_t>(arguments, "labels", rows);
  const T* weights = Elements<T>(arguments, "weights", rows);
  T* loss = Required<T>(arguments, "loss", 1);
  T* gradient = Required<T>(arguments, "gradient", rows * classes);
  return [=, engine = core_->engine<T>()] {
    *loss = SoftmaxCrossEntropy(engine, logits, labels, weights, gradient, rows, classes);
  };
}

// norm({ tensors: array[], maxNorm: number, norm }): number; scales the tensors down to maxNorm where that is finite
Napi::Value ExecutorObject::NormOf(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? NormJob<double>(arguments) : NormJob<float>(arguments));
}

template <typename T>
std::function<void()> ExecutorObject::NormJob(const Napi::Object& arguments) {
  const Napi::Array list = arguments.Get("tensors").As<Napi::Array>();
  std::vector<std::pair<T*, ptrdiff_t>> tensors;
  for (uint32_t k = 0; k < list.Length(); k++) {
    const ElementSpan<T> tensor = Span<T>(list.Get(k));
    tensors.emplace_back(tensor.data, tensor.count);
  }
  T* result = Required<T>(arguments, "norm", 1);
  const double max_norm = Number(arguments, "maxNorm");
  return [=, engine = core_->engine<T>()] {
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
}

// update({ rule: number, operands: array[], numbers: Float64Array }): number; see optimizer_updates.h
Napi::Value ExecutorObject::Update(const Napi::CallbackInfo& info) {
  const Napi::Object arguments = info[0].As<Napi::Object>();
  return Push(arguments, core_->is_double ? UpdateJob<double>(arguments) : UpdateJob<float>(arguments));
}

template <typename T>
std::function<void()> ExecutorObject::UpdateJob(const Napi::Object& arguments) {
  UpdateOperands<T> update{};
  const Napi::Array operands = arguments.Get("operands").As<Napi::Array>();
  // Those written and those read have one shape; only a mask may be left out.
  const ptrdiff_t count = Span<T>(operands.Get(uint32_t{0})).count;
  for (uint32_t k = 0; k < operands.Length() && k < kMaxOperands; k++) {
    update.data[k] = Elements<T>(operands.Get(k), "an operand of an update", count);
  }
  const ElementSpan<double> numbers = Span<double>(arguments.Get("numbers"));
  for (ptrdiff_t k = 0; k < numbers.count && k < static_cast<ptrdiff_t>(kMaxNumbers); k++) {
    update.numbers[k] = numbers.data[k];
  }
  const auto rule = static_cast<UpdateRule>(static_cast<int>(Number(arguments, "rule")));
  return [=, engine = core_->engine<T>()] {
    ForEach(engine, count, kElementwisePart,
            [&](ptrdiff_t begin, ptrdiff_t end) { ApplyUpdate(rule, update, begin, end); });
  };
}

}  // namespace cudnn_rnn
