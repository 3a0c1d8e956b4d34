import { elementCount } from '@cudnn-rnn/canonical'
import type { Layer } from './layer.js'
import { parameterCount, RecurrentLayer } from './recurrent.js'
import { signalText } from './signal.js'
import type { WholeModel } from './whole_model.js'

/** The table of `SequentialModel.summary`. */
export function summaryOf({ layers, input }: WholeModel): string {
  const counts = layers.map(countOf)
  const rows = [
    ['layer', 'kind', 'output', 'parameters'],
    ['', 'input', signalText(input), ''],
    ...layers.map((layer, index) => [layer.name, layer.kind, signalText(layer.output), String(counts[index])]),
    ['', '', 'total', String(counts.reduce((sum, count) => sum + count, 0))],
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column].length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 3 ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd()
  return rows.map(line).join('\n')
}

function countOf(layer: Layer): number {
  if (layer instanceof RecurrentLayer) return parameterCount(layer.model)
  if (layer.parts.length > 0) return layer.parts.reduce((sum, part) => sum + countOf(part), 0)
  return layer.variables.reduce((sum, { shape }) => sum + elementCount(shape), 0)
}
