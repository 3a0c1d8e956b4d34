#include "driver/block.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include "core/memory.h"
#include "driver/fiber.h"

namespace emulator {
namespace {

constexpr unsigned kWarp = 32;

class Block;
thread_local Block* running = nullptr;

class Block {
 public:
  Block(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state)
      : kernel_(kernel),
        values_(values),
        state_(state),
        threads_(state.block_size.x * state.block_size.y * state.block_size.z),
        live_in_warp_((threads_ + kWarp - 1) / kWarp, kWarp),
        live_(threads_) {
    if (threads_ % kWarp != 0) live_in_warp_.back() = threads_ % kWarp;
  }

  void Run() {
    state_.wait = [](int whole_block) { running->Wait(whole_block != 0); };
    Block* const outer = running;
    running = this;
    while (next_ < threads_) Start();
    while (!waiting_.empty()) Release();
    running = outer;
    // Idle fibers go back for the next block.
    for (auto& fiber : fibers_) IdleFibers().push_back(std::move(fiber));
  }

 private:
  void Start() {
    fibers_.push_back(TakeFiber());
    current_ = fibers_.back().get();
    current_->Prepare([] { running->Loop(); });
    SwitchStack(scheduler_, current_->left);
  }

  // The body of a fiber: runs one device thread after the other until none is left.
  [[noreturn]] void Loop() {
    while (next_ < threads_) {
      current_->thread = next_++;
      Place(current_->thread);
      kernel_.run(values_);
      --live_;
      --live_in_warp_[current_->thread / kWarp];
    }
    current_->waits = Fiber::kIdle;
    SwitchStack(current_->left, scheduler_);
    __builtin_unreachable();
  }

  void Wait(bool whole_block) {
    Fiber* const self = current_;
    self->waits = whole_block ? Fiber::kAtBlockBarrier : Fiber::kAtWarpBarrier;
    waiting_.push_back(self);
    SwitchStack(self->left, scheduler_);
  }

  // Resumes the threads whose barrier all participants have reached.
  void Release() {
    std::vector<unsigned> at_warp(live_in_warp_.size());
    unsigned at_block = 0;
    for (const Fiber* fiber : waiting_) {
      at_block += fiber->waits == Fiber::kAtBlockBarrier;
      at_warp[fiber->thread / kWarp] += fiber->waits == Fiber::kAtWarpBarrier;
    }
    std::vector<Fiber*> ready;
    std::vector<Fiber*> left;
    for (Fiber* fiber : waiting_) {
      const unsigned warp = fiber->thread / kWarp;
      const bool go = fiber->waits == Fiber::kAtBlockBarrier ? at_block == live_ : at_warp[warp] == live_in_warp_[warp];
      (go ? ready : left).push_back(fiber);
    }
    if (ready.empty()) throw DeviceFault(719, "threads of a block wait at different barriers");
    waiting_ = left;
    if (at_block > 0 && at_block == live_) votes_[++meetings_ % 2] = 0;
    for (std::size_t warp = 0; warp < at_warp.size(); ++warp) {
      if (at_warp[warp] > 0 && at_warp[warp] == live_in_warp_[warp]) meetings_of_warp_[warp] += 1;
    }
    for (Fiber* fiber : ready) Resume(*fiber);
  }

  void Resume(Fiber& fiber) {
    current_ = &fiber;
    Place(fiber.thread);
    SwitchStack(scheduler_, fiber.left);
  }

  void Place(unsigned thread) {
    const emulator_kernel::Dim3& size = state_.block_size;
    state_.thread = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
    state_.votes = &votes_[meetings_ % 2];
    state_.exchange = exchange_[thread / kWarp][meetings_of_warp_[thread / kWarp] % 2];
  }

  const emulator_kernel::Kernel& kernel_;
  void** const values_;
  emulator_kernel::ThreadState& state_;
  const unsigned threads_;
  std::vector<unsigned> live_in_warp_;
  unsigned live_;
  unsigned next_ = 0;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> waiting_;
  Fiber* current_ = nullptr;
  Suspended scheduler_;
  unsigned long long exchange_[1024 / kWarp][2][kWarp] = {};
  unsigned meetings_of_warp_[1024 / kWarp] = {};
  // The votes of this meeting and of the last one, which some threads have yet to read.
  int votes_[2] = {};
  unsigned meetings_ = 0;
};

}  // namespace

void RunBlock(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state) {
  Block(kernel, values, state).Run();
}

}  // namespace emulator
