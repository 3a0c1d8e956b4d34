#pragma once

#include <cstddef>
#include <vector>

namespace emulator {

/// The element types of device arrays. All computation is in double; these are how numbers are stored.
enum class FloatType { kFloat32, kFloat64, kFloat16, kBfloat16 };

std::size_t SizeOf(FloatType type);

/// The distance from 1 to the next number.
double Epsilon(FloatType type);

/// Elements `first` … `first + count` of `array`, widened.
void Load(FloatType type, const void* array, std::size_t first, std::size_t count, double* values);
std::vector<double> Load(FloatType type, const void* array, std::size_t first, std::size_t count);

/// Stores `values`, rounded to nearest even, from element `first` on.
void Store(FloatType type, void* array, std::size_t first, std::size_t count, const double* values);

/// `value` after a store and a load.
double Rounded(FloatType type, double value);

}  // namespace emulator
