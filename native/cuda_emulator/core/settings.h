#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace emulator {

/// An injected failure: calls number `from` of a symbol (and all later ones when `onwards`) return `status`.
struct Fault {
  int status = 0;
  long from = 1;
  bool onwards = false;
};

/// The emulated machine. Written by Configure, read everywhere.
struct Settings {
  bool enabled = false;       ///< CUDNN_RNN_CUDA_EMULATOR=1. Without it every call answers as a machine without a GPU does.
  int devices = 1;            ///< GPUs
  int capability = 900;       ///< compute capability, major·100 + minor·10
  int multiprocessors = 132;  ///< SMs per GPU
  std::size_t memory = 2ull << 30;       ///< bytes of memory per GPU
  long slow_microseconds = 0;            ///< sleep before each operation of a stream
  bool counted_time = false;             ///< events count operations instead of measuring time; nothing sleeps
  bool host_dropout = false;             ///< dropout counts its passes on the host: replays repeat their masks
  bool frozen_masks = false;             ///< as host_dropout, but the states on the device advance
  bool staged_lengths = false;           ///< a replayed pass reads the lengths that the last other pass staged
  bool other_release = false;            ///< what 9.24 does and NVIDIA does not document is otherwise
  bool stale_errors = false;             ///< after a refused persistent kernel the next pass fails once with 5003
  std::string persist_refuses;           ///< "forward", "backward" or "dropout": persistent kernels refuse there
  long interleaving = 1;                 ///< seed of the order in which the blocks of a cooperative launch run
  bool missing_block = false;            ///< the last block of a cooperative launch has no room until the others ended
  bool wrong_store = false;              ///< one of the words that blocks of a cooperative launch exchange is wrong
  bool blocking = false;                 ///< as CUDA_LAUNCH_BLOCKING=1: an enqueue returns once its work is done
  std::map<std::string, long> versions;  ///< "cudnn", "cudnn_adv", "cudnn_ops", "cudnn_graph", "driver", "runtime"
  std::map<std::string, Fault> faults;   ///< by symbol
};

/// The settings in force; a later Configure makes new ones and leaves these alone.
std::shared_ptr<const Settings> CurrentSettings();

/// The version set for `component`, or `fallback`.
long SpoofedVersion(const std::string& component, long fallback);

/// Changes settings by text: `name=value` pairs with `;` or line ends between them. Names: devices, capability (8.6),
/// multiprocessors, memory (bytes, or with K, M, G), slow (microseconds), counted_time, blocking (0, 1),
/// host_dropout, frozen_masks, staged_lengths, other_release, stale_errors (0, 1), persist_refuses (forward, backward,
/// dropout, never), interleaving (seed), missing_block, wrong_store (0, 1), sticky (operation number counted from now), version.<component>, fault.<symbol> (status, status@n,
/// status@n+; status 0 takes the fault away), and `reset` without a value: everything as at start, faults, counters,
/// violations and device errors cleared. Returns the error in the text, or nothing.
std::optional<std::string> Configure(const std::string& text);

/// The fault that the call number `call` of `symbol` meets.
std::optional<int> InjectedStatus(const std::string& symbol, long call);

/// True for the one operation that `sticky` names, which ends in an illegal address.
bool TakeStickyTurn();

}  // namespace emulator
