/**
 * Split conformal prediction (Papadopoulos et al. 2002): for each step ahead the ⌈(n+1)·coverage⌉-th smallest of n absolute
 * errors; later ones are within it as often if the distribution of errors does not change.
 *
 * @param errors [n][horizon]; NaN where the value is missing.
 */
export function intervalWidths(errors: readonly (readonly number[])[], coverage: number): number[] {
  const horizon = errors[0]?.length ?? 0
  return Array.from({ length: horizon }, (_, k) => {
    const known = errors.map((row) => Math.abs(row[k])).filter((error) => !Number.isNaN(error))
    const place = Math.min(known.length, Math.ceil((known.length + 1) * coverage)) - 1
    return known.sort((a, b) => a - b)[place] ?? 0
  })
}
