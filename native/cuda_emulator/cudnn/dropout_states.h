#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

/// The random numbers of dropout, at the start of the states buffer on the device: a seed, and how many passes drew.
struct DropoutStates {
  static constexpr std::uint64_t kMagic = 0x73657461'7473'6b61u;
  static constexpr std::size_t kBytes = 64 << 10;  // as the real ones, far more than one would think

  std::uint64_t magic;
  std::uint64_t seed;
  std::uint64_t passes;
};

/// Whether an element survives: a hash of where it is in which pass, so that no order of computation matters.
inline bool Survives(const DropoutStates& states, std::uint64_t element, float rate) {
  std::uint64_t z = states.seed * 0x9e3779b97f4a7c15u + states.passes * 0xbf58476d1ce4e5b9u + element;
  for (int round = 0; round < 2; ++round) {  // splitmix64
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53 >= rate;
}

}  // namespace emulator
