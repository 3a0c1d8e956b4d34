#pragma once

#include <string>

namespace emulator {

/// cuDNN's text about the last failure of the calling thread: a later success leaves it, reading takes it away.
void SetLastMessage(const std::string& text);
std::string TakeLastMessage();

}  // namespace emulator
