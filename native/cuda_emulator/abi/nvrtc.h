#pragma once

// The part of NVRTC that the emulator has.

#include <cstddef>

#include "abi/export.h"

using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram*;

enum : nvrtcResult {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
};

#define NVRTC_FUNCTIONS(FUNCTION)                                                                                      \
  FUNCTION(const char*, nvrtcGetErrorString, (nvrtcResult result))                                                     \
  FUNCTION(nvrtcResult, nvrtcVersion, (int* major, int* minor))                                                        \
  FUNCTION(nvrtcResult, nvrtcGetNumSupportedArchs, (int* count))                                                       \
  FUNCTION(nvrtcResult, nvrtcGetSupportedArchs, (int* archs))                                                          \
  FUNCTION(nvrtcResult, nvrtcCreateProgram,                                                                            \
           (nvrtcProgram * program, const char* source, const char* name, int headerCount, const char* const* headers, \
            const char* const* includeNames))                                                                          \
  FUNCTION(nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram * program))                                                 \
  FUNCTION(nvrtcResult, nvrtcCompileProgram, (nvrtcProgram program, int optionCount, const char* const* options))      \
  FUNCTION(nvrtcResult, nvrtcGetPTXSize, (nvrtcProgram program, size_t* bytes))                                        \
  FUNCTION(nvrtcResult, nvrtcGetPTX, (nvrtcProgram program, char* ptx))                                                \
  FUNCTION(nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram program, size_t* bytes))                                      \
  FUNCTION(nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram program, char* cubin))                                            \
  FUNCTION(nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* bytes))                                 \
  FUNCTION(nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram program, char* log))                                         \
  FUNCTION(nvrtcResult, nvrtcAddNameExpression, (nvrtcProgram program, const char* expression))                        \
  FUNCTION(nvrtcResult, nvrtcGetLoweredName, (nvrtcProgram program, const char* expression, const char** lowered))

NVRTC_FUNCTIONS(EMULATOR_PROTOTYPE)
