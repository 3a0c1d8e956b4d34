/** Three significant digits without an exponent: "0.182", "12.3", "141". */
export function threeDigits(value: number): string {
  if (value === 0) return '0'
  // 9.999 has the decimals of 10.0, to which it is rounded.
  const rounded = Math.abs(Number(value.toPrecision(3)))
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)))
  return value.toFixed(Math.min(decimals, 6))
}
