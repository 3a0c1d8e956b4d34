// Finds the functions of Node-API in the program that loads the addon, under any name (Electron, a single executable):
// without this the loader of Windows looks for node.exe. cmake-js has the same for MSVC alone (win_delay_load_hook.cc).
#include <windows.h>
// After windows.h.
#include <delayimp.h>

#include <cstring>

extern "C" {
FARPROC WINAPI LoadExecutable(unsigned event, PDelayLoadInfo info) {
  if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
  const HMODULE library = GetModuleHandleA("node.dll");
  return reinterpret_cast<FARPROC>(library != nullptr ? library : GetModuleHandleA(nullptr));
}

PfnDliHook __pfnDliNotifyHook2 = LoadExecutable;
}
