/** Digits with a point or an exponent; neither another base, nor marks between digits, nor Infinity. */
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** The number that a text is in a file or on a command line, spaces around it aside; NaN for any other text, and one beyond float64. */
export function numberOfText(text: string): number {
  const value = DECIMAL.test(text.trim()) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : Number.NaN
}
