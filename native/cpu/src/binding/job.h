#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>

#include "binding/executor_core.h"

namespace cudnn_rnn {

// The part of an executor that its operations use.
struct JobContext {
  std::shared_ptr<ExecutorCore> core;
  // Set when the executor closes; passes look at it between steps.
  const std::atomic<bool>* canceled;
};

// An operation whose arguments were read and checked on JavaScript's thread. `run` holds addresses of JavaScript's
// arrays: the object that has them must live until it has run.
struct Job {
  std::function<void()> run;
  // Multiplications and additions, for the choice between the queue's thread and the calling one. Infinity: the
  // queue's.
  double operations = std::numeric_limits<double>::infinity();
};

// body.operator()<T>() for the executor's element type.
template <typename Body>
Job OfElementType(const JobContext& context, const Body& body) {
  return context.core->is_double ? body.template operator()<double>() : body.template operator()<float>();
}

}  // namespace cudnn_rnn
