#include "core/last_message.h"

#include <utility>

namespace emulator {
namespace {
thread_local std::string last_message;
}

void SetLastMessage(const std::string& text) { last_message = text; }

std::string TakeLastMessage() { return std::exchange(last_message, ""); }

}  // namespace emulator
