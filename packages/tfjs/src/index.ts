/**
 * Recurrent layers of TensorFlow.js on an executor, and CTC as one of its operations.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { accelerate } from '@cudnn-rnn/tfjs'
 * import * as tf from '@tensorflow/tfjs'
 *
 * const backend = await openBackend('reference') // in an application: await openBackend('auto')
 * const acceleration = accelerate(tf, backend)
 *
 * const model = tf.sequential()
 * model.add(tf.layers.lstm({ units: 8, inputShape: [20, 4] }))
 * model.add(tf.layers.dense({ units: 1 }))
 * model.compile({ loss: 'meanSquaredError', optimizer: 'adam' })
 * await model.fit(tf.randomNormal([16, 20, 4]), tf.zeros([16, 1]), { epochs: 2, verbose: 0 })
 * console.log(acceleration.report()[0]?.computedBy) // reference
 * acceleration.dispose()
 * backend.dispose()
 * ```
 * @packageDocumentation
 */
export { type Acceleration, accelerate, type LayerReport } from './accelerate.js'
export { ctcLoss } from './ctc_loss.js'
export type { TensorFlow } from './tensor_flow.js'
