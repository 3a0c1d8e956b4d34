#include "driver/stack_switch.h"

#if defined(__x86_64__)

#include <cstdint>

// Saves the callee-saved registers and exchanges stack pointers. swapcontext() needs a system call for each switch, as
// it saves the signal mask, and a reduction in a block of 256 threads switches thousands of times.
asm(R"(
  .text
  .hidden emulator_switch_stack
  .globl emulator_switch_stack
emulator_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
extern "C" void emulator_switch_stack(void** from, void** to);

namespace emulator {

void SwitchStack(Suspended& from, Suspended& to) { emulator_switch_stack(&from.place, &to.place); }

Suspended PrepareStack(void* memory, std::size_t bytes, void (*entry)()) {
  // Six registers and the address to return to; the stack pointer at a function's first instruction is 8 off 16.
  auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(memory) + bytes - 16);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int i = 0; i < 6; ++i) *--top = 0;
  return {top};
}

}  // namespace emulator

#else

#include <ucontext.h>

// The contexts live as long as the thread's process: a stack is prepared once and used for many blocks.
namespace emulator {

void SwitchStack(Suspended& from, Suspended& to) {
  if (from.place == nullptr) from.place = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from.place), static_cast<ucontext_t*>(to.place));
}

Suspended PrepareStack(void* memory, std::size_t bytes, void (*entry)()) {
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = memory;
  context->uc_stack.ss_size = bytes;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return {context};
}

}  // namespace emulator

#endif
