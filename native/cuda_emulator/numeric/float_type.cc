#include "numeric/float_type.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulator {
namespace {

template <class To, class From>
To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Through float first: a double that rounds twice is off by at most the case of a tie made by the first rounding, which
// the real libraries, computing in float, have too.
std::uint16_t ToBfloat16(double value) {
  const auto bits = Bits<std::uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

double FromBfloat16(std::uint16_t bits) { return Bits<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t ToFloat16(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7FFF;
  const double magnitude = std::abs(value);
  if (magnitude >= 65520) return sign | 0x7C00;
  if (magnitude == 0) return sign;  // zero has no exponent
  // One unit in the last place is 2^-24 below 2^-14, and 2^(e-10) above.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  if (unit == -24) return static_cast<std::uint16_t>(sign | steps);  // subnormal, or just rounded up to normal
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(unit + 24) * 1024 + steps));
}

double FromFloat16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

std::size_t SizeOf(FloatType type) {
  switch (type) {
    case FloatType::kFloat32: return 4;
    case FloatType::kFloat64: return 8;
    default: return 2;
  }
}

double Epsilon(FloatType type) {
  switch (type) {
    case FloatType::kFloat32: return 0x1p-23;
    case FloatType::kFloat64: return 0x1p-52;
    case FloatType::kFloat16: return 0x1p-10;
    default: return 0x1p-7;
  }
}

void Load(FloatType type, const void* array, std::size_t first, std::size_t count, double* values) {
  switch (type) {
    case FloatType::kFloat32: std::copy_n(static_cast<const float*>(array) + first, count, values); break;
    case FloatType::kFloat64: std::copy_n(static_cast<const double*>(array) + first, count, values); break;
    case FloatType::kFloat16:
      std::transform(static_cast<const std::uint16_t*>(array) + first,
                     static_cast<const std::uint16_t*>(array) + first + count, values, FromFloat16);
      break;
    case FloatType::kBfloat16:
      std::transform(static_cast<const std::uint16_t*>(array) + first,
                     static_cast<const std::uint16_t*>(array) + first + count, values, FromBfloat16);
      break;
  }
}

std::vector<double> Load(FloatType type, const void* array, std::size_t first, std::size_t count) {
  std::vector<double> values(count);
  Load(type, array, first, count, values.data());
  return values;
}

void Store(FloatType type, void* array, std::size_t first, std::size_t count, const double* values) {
  switch (type) {
    case FloatType::kFloat32:
      std::transform(values, values + count, static_cast<float*>(array) + first,
                     [](double value) { return static_cast<float>(value); });
      break;
    case FloatType::kFloat64: std::copy_n(values, count, static_cast<double*>(array) + first); break;
    case FloatType::kFloat16:
      std::transform(values, values + count, static_cast<std::uint16_t*>(array) + first, ToFloat16);
      break;
    case FloatType::kBfloat16:
      std::transform(values, values + count, static_cast<std::uint16_t*>(array) + first, ToBfloat16);
      break;
  }
}

double Rounded(FloatType type, double value) {
  switch (type) {
    case FloatType::kFloat32: return static_cast<float>(value);
    case FloatType::kFloat64: return value;
    case FloatType::kFloat16: return FromFloat16(ToFloat16(value));
    case FloatType::kBfloat16: return FromBfloat16(ToBfloat16(value));
  }
  return value;
}

}  // namespace emulator
