// The addon's functions. Options were checked in TypeScript; the types and lengths of arrays are checked here.
#include <cstdlib>

#include "arguments.h"
#include "callbacks.h"
#include "napi_setup.h"
#include "settlement.h"
#include "world.h"

namespace cudnn_rnn {
namespace {

/// The environment that has opened the world. One at a time, and one in the life of the process.
struct Owner {
  napi_env env = nullptr;
  Completions<Operation> settled;
};

/// Never destroyed, as the world's threads may use it when the process ends.
Owner& TheOwner() {
  static auto* const owner = new Owner;
  return *owner;
}

/// At the end of the owning environment. A rank that ends without dispose() leaves the others waiting in a collective
/// until their deadline; ending the job immediately shows the cause.
void AbortAtEnvironmentEnd() {
  if (World::Instance().state() == World::State::kOpen) {
    World::Instance().Abort("its thread ended without dispose(). All ranks are ended", kLeftExitCode);
  }
  // The world has closed, which was not settled: its thread may still be about to report that.
  World::Instance().Join();
  TheOwner().env = nullptr;
}

/// The rejection of a promise: an Error with the fields of Failure and the library in use.
Napi::Value ErrorOf(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.detail.empty() ? failure.call : failure.detail);
  error.Set("code", Napi::String::New(env, failure.code));
  error.Set("call", Napi::String::New(env, failure.call));
  auto attempts = Napi::Array::New(env, failure.attempts.size());
  for (std::uint32_t k = 0; k < failure.attempts.size(); k++) attempts[k] = failure.attempts[k];
  error.Set("attempts", attempts);
  const JobInfo& info = World::Instance().info();
  error.Set("library", Napi::String::New(env, info.library));
  error.Set("version", Napi::String::New(env, info.version));
  return error.Value();
}

Napi::Value InfoOf(Napi::Env env) {
  const JobInfo& info = World::Instance().info();
  auto result = Napi::Object::New(env);
  result.Set("rank", info.rank);
  result.Set("size", info.size);
  result.Set("localRank", info.local_rank);
  result.Set("localSize", info.local_size);
  result.Set("namesMissingRanks", info.names_missing_ranks);
  result.Set("library", info.library);
  result.Set("version", info.version);
  result.Set("abi", info.abi);
  return result;
}

/// The result of an all-gather, one array for each rank. Copies, as `gathered` is one block that ends with the
/// operation.
Napi::Value PartsOf(Napi::Env env, const Operation& operation) {
  auto parts = Napi::Array::New(env, operation.lengths.size());
  const std::uint8_t* from = operation.gathered.data();
  for (std::uint32_t rank = 0; rank < operation.lengths.size(); rank++) {
    const auto length = static_cast<std::size_t>(operation.lengths[rank]);
    auto part = Napi::Uint8Array::New(env, length);
    std::copy_n(from, length, part.Data());
    parts[rank] = part;
    from += length;
  }
  return parts;
}

Napi::Value ResultOf(Napi::Env env, const Operation& operation) {
  if (operation.kind == OperationKind::kOpen) return InfoOf(env);
  if (operation.kind == OperationKind::kAllGather) return PartsOf(env, operation);
  return env.Undefined();
}

/// Settles one operation, on JavaScript's thread.
void SettleOnJavaScript(Napi::Env env, const Operation& operation) {
  auto& settlement = *static_cast<Settlement*>(operation.settlement.get());
  Owner& owner = TheOwner();
  settlement.Settled(env, owner.settled);
  // After the last operation: those before the one that closed may be settled after it has.
  if (owner.settled.outstanding() == 0 && World::Instance().state() != World::State::kOpen) {
    // Closing frees the function, in which the other thread may still be.
    World::Instance().Join();
    owner.settled.Close();
    owner.env = nullptr;
  }
  if (operation.failure.code.empty()) {
    settlement.Resolve(env, ResultOf(env, operation));
  } else {
    settlement.Reject(env, ErrorOf(env, operation.failure));
  }
}

/// The promise of `operation`, which is about to be queued.
Napi::Value PromiseOf(const Napi::CallbackInfo& info, Operation& operation, const Napi::Value& array) {
  const auto settlement = std::make_shared<Settlement>();
  operation.settlement = settlement;
  if (!array.IsEmpty()) settlement->Hold(array);
  return settlement->Promise(info.Env(), TheOwner().settled);
}

/// Queues an operation of the environment that has opened the world.
Napi::Value Post(const Napi::CallbackInfo& info, std::unique_ptr<Operation> operation, const Napi::Value& array) {
  if (TheOwner().env != static_cast<napi_env>(info.Env())) {
    ThrowCoded(info.Env(), "ERR_COMMUNICATOR_CLOSED", "The communicator is not open in this thread");
  }
  const Napi::Value promise = PromiseOf(info, *operation, array);
  World::Instance().Post(std::move(operation));
  return promise;
}

// open(options: { libraries: string[]; expectedSize: number; timeoutSeconds: number; silenceSeconds: number;
// busySeconds: number; learnsBusy: boolean }):
//   Promise<JobInfo>
Napi::Value Open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  World& world = World::Instance();
  Owner& owner = TheOwner();
  if (world.state() != World::State::kNew || owner.env != nullptr) {
    // One open in the life of the process, from any thread: MPI cannot be initialized again.
    ThrowCoded(env, "ERR_COMMUNICATOR_OPENED", world.state() == World::State::kClosed ? "closed" : "open");
  }
  const auto given = info[0].As<Napi::Object>();
  JobOptions options;
  const auto libraries = given.Get("libraries").As<Napi::Array>();
  for (std::uint32_t k = 0; k < libraries.Length(); k++) {
    options.libraries.push_back(libraries.Get(k).ToString().Utf8Value());
  }
  options.expected_size = static_cast<int>(Number(given, "expectedSize"));
  options.timeout_seconds = Number(given, "timeoutSeconds");
  options.silence_seconds = Number(given, "silenceSeconds");
  options.busy_seconds = Number(given, "busySeconds");
  options.learns_busy = given.Get("learnsBusy").ToBoolean().Value();
  // UCX, under MPICH and Open MPI, tests its memory hooks by growing and shrinking the program break while it is
  // initialized. Memory that another thread took from malloc() meanwhile is unmapped by that, and Node.js has other
  // threads. Without the hooks, registrations of memory with an InfiniBand adapter are not cached. A value of the user
  // stays.
  setenv("UCX_MEM_EVENTS", "n", 0);
  const auto settle = [](Napi::Env on, const std::unique_ptr<Operation>& done) { SettleOnJavaScript(on, *done); };
  owner.settled.Open(env, "cudnn_rnn communicator", settle, AbortAtEnvironmentEnd);
  owner.env = env;
  auto first = std::make_unique<Operation>();
  first->kind = OperationKind::kOpen;
  const Napi::Value promise = PromiseOf(info, *first, Napi::Value());
  world.Start(std::move(options), std::move(first), owner.settled.Reporter());
  return promise;
}

/// Adds a typed array to those that `operation` reduces, all of one type.
template <typename Element>
void AddArray(Operation& operation, ElementKind kind, const Napi::Value& array) {
  const auto span = Span<Element>(array);
  operation.element = kind;
  operation.arrays.push_back({span.data, static_cast<std::size_t>(span.count)});
}

// allReduce(array: Float32Array | Float64Array | Int32Array, reduction: 0 | 1 | 2, asBfloat16: boolean): Promise<void>
Napi::Value AllReduce(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<Operation>();
  operation->kind = OperationKind::kAllReduce;
  operation->reduce = static_cast<ReduceKind>(info[1].ToNumber().Int32Value());
  operation->as_bfloat16 = info[2].ToBoolean().Value();
  const auto type = info[0].As<Napi::TypedArray>().TypedArrayType();
  if (type == napi_float64_array) {
    AddArray<double>(*operation, ElementKind::kFloat64, info[0]);
  } else if (type == napi_int32_array) {
    AddArray<int32_t>(*operation, ElementKind::kInt32, info[0]);
  } else {
    AddArray<float>(*operation, ElementKind::kFloat32, info[0]);
  }
  return Post(info, std::move(operation), info[0]);
}

// sumArrays(arrays: Float32Array[] | Float64Array[], asBfloat16: boolean): Promise<void>
Napi::Value SumArrays(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<Operation>();
  operation->kind = OperationKind::kAllReduce;
  operation->as_bfloat16 = info[1].ToBoolean().Value();
  const auto arrays = info[0].As<Napi::Array>();
  const bool is_double =
      arrays.Length() > 0 && arrays.Get(0U).As<Napi::TypedArray>().TypedArrayType() == napi_float64_array;
  for (std::uint32_t k = 0; k < arrays.Length(); k++) {
    if (is_double) {
      AddArray<double>(*operation, ElementKind::kFloat64, arrays.Get(k));
    } else {
      AddArray<float>(*operation, ElementKind::kFloat32, arrays.Get(k));
    }
  }
  return Post(info, std::move(operation), arrays);
}

/// An operation on the bytes of a Uint8Array. The settlement keeps the array alive; JavaScript must not transfer it
/// before the promise settles.
std::unique_ptr<Operation> OfBytes(OperationKind kind, const Napi::Value& bytes) {
  auto operation = std::make_unique<Operation>();
  const auto span = Span<std::uint8_t>(bytes);
  operation->kind = kind;
  operation->bytes = span.data;
  operation->byte_count = static_cast<std::size_t>(span.count);
  return operation;
}

// broadcast(bytes: Uint8Array, root: number): Promise<void>
Napi::Value Broadcast(const Napi::CallbackInfo& info) {
  auto operation = OfBytes(OperationKind::kBroadcast, info[0]);
  operation->root = info[1].ToNumber().Int32Value();
  return Post(info, std::move(operation), info[0]);
}

// allGather(bytes: Uint8Array): Promise<Uint8Array[]>
Napi::Value AllGather(const Napi::CallbackInfo& info) {
  return Post(info, OfBytes(OperationKind::kAllGather, info[0]), info[0]);
}

Napi::Value PostOf(const Napi::CallbackInfo& info, OperationKind kind) {
  auto operation = std::make_unique<Operation>();
  operation->kind = kind;
  return Post(info, std::move(operation), Napi::Value());
}

// barrier(): Promise<void>
Napi::Value Barrier(const Napi::CallbackInfo& info) { return PostOf(info, OperationKind::kBarrier); }

// close(): Promise<void> — waits for all ranks, then finalizes MPI
Napi::Value Close(const Napi::CallbackInfo& info) { return PostOf(info, OperationKind::kClose); }

// closeAtExit(): boolean — the same at the end of the process; false if operations are pending
Napi::Value CloseAtExit(const Napi::CallbackInfo& info) {
  const bool is_closed = World::Instance().CloseAtExit();
  if (is_closed) TheOwner().settled.Close();
  return Napi::Boolean::New(info.Env(), is_closed);
}

// beat(): void — from the event loop, while it turns
void Beat(const Napi::CallbackInfo&) { World::Instance().Beat(); }

// beginDeviceCall(), endDeviceCall(): void — of a call of NCCL, for which the watchdog waits too
void BeginDeviceCall(const Napi::CallbackInfo&) { World::Instance().BeginDeviceCall(); }
void EndDeviceCall(const Napi::CallbackInfo&) { World::Instance().EndDeviceCall(); }

// abort(reason: string, code: number): never
Napi::Value Abort(const Napi::CallbackInfo& info) {
  World::Instance().Abort(info[0].ToString().Utf8Value(), info[1].ToNumber().Int32Value());
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("open", Napi::Function::New(env, Open));
  exports.Set("allReduce", Napi::Function::New(env, AllReduce));
  exports.Set("sumArrays", Napi::Function::New(env, SumArrays));
  exports.Set("broadcast", Napi::Function::New(env, Broadcast));
  exports.Set("allGather", Napi::Function::New(env, AllGather));
  exports.Set("barrier", Napi::Function::New(env, Barrier));
  exports.Set("close", Napi::Function::New(env, Close));
  exports.Set("closeAtExit", Napi::Function::New(env, CloseAtExit));
  exports.Set("beat", Napi::Function::New(env, Beat));
  exports.Set("beginDeviceCall", Napi::Function::New(env, BeginDeviceCall));
  exports.Set("endDeviceCall", Napi::Function::New(env, EndDeviceCall));
  exports.Set("abort", Napi::Function::New(env, Abort));
  return exports;
}

}  // namespace
}  // namespace cudnn_rnn

static Napi::Object InitializeAddon(Napi::Env env, Napi::Object exports) { return cudnn_rnn::Initialize(env, exports); }

NODE_API_MODULE(cudnn_rnn_mpi, InitializeAddon)
