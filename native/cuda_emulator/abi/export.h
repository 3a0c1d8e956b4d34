#pragma once

/// Marks a function of NVIDIA's C interface: the only symbols a library of the emulator exports.
#define EMULATOR_EXPORT extern "C" __attribute__((visibility("default")))

/// Expands one row of a function table to a prototype, so that a definition that strays from the table does not
/// compile.
#ifdef EMULATOR_TABLES_ONLY
#define EMULATOR_PROTOTYPE(result, name, parameters)
#else
#define EMULATOR_PROTOTYPE(result, name, parameters) EMULATOR_EXPORT result name parameters;
#endif
