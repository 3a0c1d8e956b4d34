import { paramRegions } from '@cudnn-rnn/canonical'
import type { ImportedNetwork } from '@cudnn-rnn/rnn'
import type { Matrix } from '../drawing/heat_map.js'
import type { PictureGroup } from './weights_messages.js'

/** Cells of a picture along one side. */
const MOST_CELLS = 160

/** The weight matrices of a network as pictures: by layer, direction and side, a picture for each gate. */
export function gatePictures({ descriptor, canonical }: ImportedNetwork): PictureGroup[] {
  const groups = new Map<string, PictureGroup & { gates: PictureGroup['gates'][number][] }>()
  for (const [index, region] of paramRegions(descriptor).weights.entries()) {
    const { data, shape } = canonical.weights[index]
    if (region.size === 0) continue
    const [rows, columns] = shape as [number, number]
    const way = descriptor.direction === 'bidirectional' ? (region.direction === 0 ? ', forward' : ', backward') : ''
    const title = `Layer ${region.layer + 1}${way}, ${region.side === 'input' ? 'input' : region.side} weights`
    const group = groups.get(title) ?? { title, gates: [] }
    groups.set(title, group)
    group.gates.push({
      gate: region.gate?.replace('_', ' ') ?? 'all units',
      shape,
      matrix: pooled({ rows, columns, values: Float32Array.from(data, Number) }),
      limit: 0,
    })
  }
  return [...groups.values()].map(({ title, gates }) => {
    // One scale for a group, so that its gates can be compared.
    const limit = Math.max(...gates.map(({ matrix }) => largest(matrix.values)))
    return { title, gates: gates.map((picture) => ({ ...picture, limit })) }
  })
}

/** A matrix with at most MOST_CELLS rows and columns: the value of the largest magnitude of each block. */
export function pooled(matrix: Matrix): Matrix {
  const { rows, columns, values } = matrix
  const [down, across] = [Math.ceil(rows / MOST_CELLS), Math.ceil(columns / MOST_CELLS)]
  if (down === 1 && across === 1) return matrix
  const small = { rows: Math.ceil(rows / down), columns: Math.ceil(columns / across) }
  const strongest = new Float32Array(small.rows * small.columns)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const place = Math.floor(row / down) * small.columns + Math.floor(column / across)
      const value = values[row * columns + column]
      if (Math.abs(value) > Math.abs(strongest[place])) strongest[place] = value
    }
  }
  return { ...small, values: strongest }
}

/** The largest magnitude of the finite values, 0 without any: one NaN must not take the colors of all others. */
export function largest(values: Float32Array): number {
  return values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0)
}
