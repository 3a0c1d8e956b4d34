// Sleep and wake of Windows. std::atomic::wait of a GCC library without futexes loads the value, then locks, then
// waits, without another look: it misses a notification in between, and a thread sleeps forever.
#include "threads/spin_wait.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace cudnn_rnn {

void SleepWhile(const std::atomic<int>& value, int seen) {
  WaitOnAddress(const_cast<std::atomic<int>*>(&value), &seen, sizeof seen, INFINITE);
}

void WakeAll(std::atomic<int>* value) { WakeByAddressAll(value); }

}  // namespace cudnn_rnn
