import type { OnnxNodeMessage } from '../files/onnx_messages.js'
import { FOLDS } from './onnx_folds.js'

const RECURRENT = ['LSTM', 'GRU', 'RNN']
/** Operators of other domains whose names say that they are recurrent. */
const LOOKS_RECURRENT = /lstm|gru|rnn/i

/** Whether the standard defines an operator. */
export function isStandard({ domain }: Pick<OnnxNodeMessage, 'domain'>): boolean {
  return domain === '' || domain === 'ai.onnx'
}

/** A recurrent operator of ONNX itself. */
export function isRecurrent(node: OnnxNodeMessage): boolean {
  return RECURRENT.includes(node.opType) && isStandard(node)
}

/** A recurrent operator of another domain, such as `DynamicQuantizeLSTM`; also a function of the model may have such a name. */
export function looksRecurrent(node: OnnxNodeMessage): boolean {
  // ATen names its operator in an attribute.
  const { s: operator = '' } = node.attributes.get('operator') ?? {}
  return !isRecurrent(node) && (LOOKS_RECURRENT.test(node.opType) || LOOKS_RECURRENT.test(operator))
}

/** Whether a reader of weights needs a node. */
export function isNeeded(node: OnnxNodeMessage): boolean {
  if (!isStandard(node) || isRecurrent(node) || looksRecurrent(node)) return true
  if (FOLDS.has(node.opType) || node.opType === 'Constant') return true
  return [...node.attributes.values()].some(({ graph }) => graph !== undefined)
}
