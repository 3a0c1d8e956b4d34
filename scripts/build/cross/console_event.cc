// Sends a program an event of its console: console_event.exe EVENT PROCESS. 0 is Ctrl-C, 1 is Ctrl-Break and 2 the
// closing of the window. Windows starts this thread in the programs of a console; wine does so for Ctrl-C alone.
#include <windows.h>

#include <cstdlib>

int main(int, char** arguments) {
  HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, std::strtoul(arguments[2], nullptr, 10));
  const FARPROC routine = GetProcAddress(GetModuleHandleA("kernelbase.dll"), "CtrlRoutine");
  void* event = reinterpret_cast<void*>(std::strtoull(arguments[1], nullptr, 10));
  return CreateRemoteThread(process, nullptr, 0, reinterpret_cast<LPTHREAD_START_ROUTINE>(routine), event, 0,
                            nullptr) == nullptr;
}
