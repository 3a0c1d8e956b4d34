#pragma once

/// Marks a function of NVIDIA's C interface: the only symbols a fake library shows.
#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

/// Expands one row of a function table to a prototype, so that a definition that strays from the table does not
/// compile.
#ifdef FAKE_TABLES_ONLY
#define FAKE_PROTOTYPE(result, name, parameters)
#else
#define FAKE_PROTOTYPE(result, name, parameters) FAKE_EXPORT result name parameters;
#endif
