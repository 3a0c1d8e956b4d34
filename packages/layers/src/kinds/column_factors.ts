import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'

type Floats = Tensor<FloatArray> | undefined

/** The inference of a batch normalization: a factor and an offset of each column. */
export function columnFactors(
  { mean, variance, gamma, beta }: Readonly<Record<'mean' | 'variance' | 'gamma' | 'beta', Floats>>,
  columns: number,
  epsilon: number,
): { readonly factors: Float64Array; readonly offsets: Float64Array } {
  const at = (tensor: Floats, k: number, absent: number) => tensor?.data[k] ?? absent
  const factors = Float64Array.from(
    { length: columns },
    (_, k) => at(gamma, k, 1) / Math.sqrt(at(variance, k, 1) + epsilon),
  )
  const offsets = factors.map((factor, k) => at(beta, k, 0) - factor * at(mean, k, 0))
  return { factors, offsets }
}

/** Diagonal matrices above each other, a kernel that adds up as many groups of columns, each by its factors. */
export function diagonal(groups: readonly FloatArray[]): Tensor<FloatArray> {
  const size = groups[0]?.length ?? 0
  const data = new Float64Array(groups.length * size * size)
  for (const [group, factors] of groups.entries()) {
    for (const [k, factor] of factors.entries()) data[(group * size + k) * size + k] = factor
  }
  return { data, shape: [groups.length * size, size] }
}
