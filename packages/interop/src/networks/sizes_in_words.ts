import { type Framework, GATE_ORDERS, type RnnDescriptor } from '@cudnn-rnn/canonical'

/** An interpretation in words: `pytorch lstm (gates input, forget, new_memory, output), 2 × 4 units, input 3, bidirectional`. */
export function sizesInWords(framework: Framework | 'canonical' | 'haste', descriptor: RnnDescriptor): string {
  const { cellMode, numLayers, numUnits, inputSize, direction, numProj } = descriptor
  const order = GATE_ORDERS[framework === 'canonical' ? 'cudnn' : framework][cellMode]
  const gates = order.length === 1 ? '' : ` (gates ${order.join(', ')})`
  const projection = numProj === undefined ? '' : `, projection ${numProj}`
  const both = direction === 'bidirectional' ? ', bidirectional' : ''
  return `${framework} ${cellMode}${gates}, ${numLayers} × ${numUnits} units, input ${inputSize}${projection}${both}`
}
