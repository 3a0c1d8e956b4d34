import type { Tensor, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import { stepMask } from './mask.js'
import type { ComputableCall, PlannedCell, RecurrentLayer } from './recurrent_layer.js'
import { recurrentOperation } from './recurrent_operation.js'
import type { Recurrences } from './sequence.js'
import type { TensorFlow } from './tensor_flow.js'

/** `call` of a recurrent layer: its cells one after the other, each over the whole sequence. */
export function computeCall(
  tf: TensorFlow,
  recurrences: Recurrences,
  layer: RecurrentLayer,
  call: ComputableCall,
): Tensor | Tensor[] {
  return tf.tidy(() => {
    const { cells, training } = call
    const [batch, time] = call.x.shape
    const mask = call.mask === null ? null : stepMask(call.mask.dataSync(), time, batch, layer.goBackwards)
    const returnStates = layer.returnState || layer.stateful
    const states: Tensor2D[] = []
    let output: Tensor = call.x.dtype === 'float32' ? call.x : tf.cast(call.x, 'float32')
    for (const [index, cell] of cells.entries()) {
      const results = recurrentOperation(tf, recurrences, cell, {
        x: dropped(tf, cell, output as Tensor3D),
        states: call.states[index],
        mask,
        // The outputs of the lowest cell come in the order of the steps already.
        reversed: layer.goBackwards && index === 0,
        returnSequences: layer.returnSequences || index < cells.length - 1,
        returnStates,
      })
      output = results.output
      states.unshift(...results.states)
    }
    if (layer.stateful) layer.resetStates([...states], training)
    return layer.returnState ? [output, ...states] : output
  })
}

/** x∘mask, one mask [B,I] for all steps, as TensorFlow.js draws it. */
function dropped(tf: TensorFlow, { dropout, fields }: PlannedCell, x: Tensor3D): Tensor3D {
  if (dropout === 0) return x
  const ones = tf.ones([x.shape[0], x.shape[2]])
  const mask = fields.dropoutFunc ? fields.dropoutFunc(ones, dropout) : tf.dropout(ones, dropout)
  return tf.mul(x, tf.expandDims(mask, 1))
}
