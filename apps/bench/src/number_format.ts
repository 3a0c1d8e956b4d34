/** Three significant digits without an exponent: "0.182", "12.3", "141". */
export function threeDigits(value: number): string {
  if (value === 0) return '0'
  // 9.999 has the decimals of 10.0, to which it is rounded.
  const rounded = Math.abs(Number(value.toPrecision(3)))
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)))
  return value.toFixed(Math.min(decimals, 6))
}

/** A share as whole percents: "42 %". */
export function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

/** Bytes as MiB, or "–" if they are unknown. */
export function mebibytes(bytes: number | null): string {
  return bytes === null ? '–' : `${Math.round(bytes / 2 ** 20)} MiB`
}
