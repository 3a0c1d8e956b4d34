import { elementCount } from '@cudnn-rnn/canonical'
import type { Layer } from '../layer.js'
import { kindOf } from './model_graph.js'
import { parameterCount, RecurrentLayer } from '../kinds/recurrent.js'
import { signalText } from '../signal.js'
import type { WholeModel } from './whole_model.js'

/** The table of `LayersModel.summary`; of a graph with the values that each layer reads. */
export function summaryOf({ graph }: WholeModel): string {
  const { inputs, nodes, layers, outputs, isChain } = graph
  const reads = (texts: readonly string[]) => (isChain ? [] : [texts.join(', ')])
  const known = new Set<Layer | undefined>()
  const rows = [
    ['layer', 'kind', 'output', 'parameters', ...reads(['reads'])],
    ...inputs.map(({ name, signal }) => [isChain ? '' : name, 'input', signalText(signal), '', ...reads([])]),
    ...nodes.map((node) => {
      const count = node.layer === undefined || known.has(node.layer) ? 0 : countOf(node.layer)
      known.add(node.layer)
      const from = reads([...node.from, ...node.states].map((each) => graph.textOf(each)))
      return [node.name, kindOf(node), signalText(node.output), String(count), ...from]
    }),
    ...(isChain
      ? []
      : outputs.map(({ name, signal, value }) => [
          name,
          'output',
          signalText(signal),
          '',
          ...reads([graph.textOf(value)]),
        ])),
    ['', '', 'total', String(layers.reduce((sum, layer) => sum + countOf(layer), 0)), ...reads([])],
  ]
  const widths = rows[0].map((_, column) => rows.reduce((width, row) => Math.max(width, row[column].length), 0))
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
