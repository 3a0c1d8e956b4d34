#include "world.h"

#include <exception>
#include <utility>

namespace cudnn_rnn {

World& World::Instance() {
  // Leaked on purpose: the destructor of a static would run at exit while the threads may still be inside MPI.
  static auto* const world = new World;
  return *world;
}

void World::Start(JobOptions options, std::unique_ptr<Operation> first, Settle settle) {
  options_ = std::move(options);
  settle_ = std::move(settle);
  // Before the thread starts, which loops while the state is kOpen.
  state_ = State::kOpen;
  Post(std::move(first));
  // First: Run() stops the watchdog if opening fails, which can be before this function returns.
  watchdog_.Start(options_);
  caller_ = std::thread([this] { Run(); });
}

void World::Post(std::unique_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(operation));
  pending_++;
  changed_.notify_all();
}

bool World::CloseAtExit() {
  std::unique_lock lock(mutex_);
  if (pending_ > 0) return false;
  queue_.push_back(std::make_unique<Operation>());
  // Without a settlement: no promise can be settled during exit.
  queue_.back()->kind = OperationKind::kClose;
  pending_++;
  changed_.notify_all();
  // The watchdog ends the process if this takes too long.
  changed_.wait(lock, [this] { return pending_ == 0; });
  lock.unlock();
  // A close that failed leaves MPI initialized; the caller then aborts.
  if (job_.is_initialized()) return false;
  Join();
  return true;
}

void World::Join() {
  caller_.join();
  watchdog_.Join();
}

void World::Run() {
  // Only this thread changes the state from here on, so the loop ends after the operation that closed.
  while (state_ == State::kOpen) {
    std::unique_ptr<Operation> operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !queue_.empty(); });
      operation = std::move(queue_.front());
      queue_.pop_front();
    }
    progress_.Begin(operation->kind, BytesOf(*operation));
    Perform(*operation);
    progress_.End();
    const bool is_last = state_ != State::kOpen;
    if (is_last) watchdog_.Stop();
    {
      const std::lock_guard lock(mutex_);
      pending_--;
      // CloseAtExit() waits for it.
      changed_.notify_all();
    }
    // After the update of pending_: once JavaScript learns of the end, CloseAtExit() no longer counts this operation.
    if (operation->settlement != nullptr) settle_(std::move(operation));
    if (is_last) break;
  }
}

void World::Perform(Operation& operation) {
  try {
    switch (operation.kind) {
      case OperationKind::kOpen:
        return Open(operation);
      case OperationKind::kAllReduce:
        return collectives_->AllReduce(operation);
      case OperationKind::kBroadcast:
        return collectives_->Broadcast(operation.bytes, operation.byte_count, operation.root);
      case OperationKind::kAllGather:
        return collectives_->AllGather(operation);
      case OperationKind::kBarrier:
        return collectives_->Barrier();
      case OperationKind::kClose:
        return Close();
      case OperationKind::kNone:
        return;
    }
  } catch (const MpiError& error) {
    operation.failure = {"ERR_COMMUNICATOR", error.call, error.detail, {}};
  } catch (const std::exception& error) {
    operation.failure = {"ERR_COMMUNICATOR", NameOf(operation.kind), error.what(), {}};
  }
}

void World::Open(Operation& operation) {
  switch (job_.Open(options_, &operation.failure)) {
    case Job::Opened::kNoLibrary:
      state_ = State::kNew;
      return;
    case Job::Opened::kUnusable:
      state_ = State::kClosed;
      return;
    case Job::Opened::kOpen:
      break;
  }
  collectives_.emplace(job_.library(), job_.data_comm(), info().rank, info().size);
  watchdog_.PermitCalls();
}

void World::Close() {
  // Over the control communicator: a rank that still waits in a collective of the other one must not be matched by this
  // barrier.
  CALL_MPI(job_.library(), Barrier, job_.control_comm());
  watchdog_.ForbidCalls();
  job_.Finalize();
  state_ = State::kClosed;
}

}  // namespace cudnn_rnn
