#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "binding/executor_core.h"
#include "napi_setup.h"

namespace cudnn_rnn {

// The part of an executor that its operations use.
struct JobContext {
  std::shared_ptr<ExecutorCore> core;
  // Set when the executor closes; passes look at it between steps.
  const std::atomic<bool>* canceled;
  // The call of the method.
  const Napi::CallbackInfo& info;
};

// An operation whose arguments were read and checked on JavaScript's thread. `run` holds addresses of JavaScript's
// arrays: the object that has them must live until it has run.
struct Job {
  std::function<void()> run;
  // Multiplications and additions, at the rate of a single row (KernelTable::operations_per_ns), for the choice between
  // the queue's thread and the calling one. Infinity: the queue's.
  double operations = std::numeric_limits<double>::infinity();
};

// Reads and checks the arguments of one operation of NativeExecutor (packages/cpu/src/native_addon.ts), for an executor
// of float or double. The arguments are properties of one object, but forward has the shortest calls and takes
// positional arguments, because Node-API needs 60 ns to look up a property. Throws RangeError ERR_TENSOR_TRANSFERRED if
// an array does not have the length that the sizes require, TypeError ERR_DTYPE if its element type differs.
struct JobReader {
  using Read = Job (*)(const JobContext&, const Napi::Object&);
  // The name of the method of NativeExecutor.
  const char* name;
  Read f32;
  Read f64;
  // The method blocks until the operation has run. The others return its number.
  bool blocks = false;
};

const std::vector<JobReader>& DenseJobs();
const std::vector<JobReader>& LstmSequenceJobs();
const std::vector<JobReader>& RnnJobs();

}  // namespace cudnn_rnn
