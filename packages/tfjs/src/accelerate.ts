import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkIsObject,
  checkOptions,
  codedRangeError,
  codedTypeError,
  FUNCTION,
  optional,
  type OptionsOf,
} from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import type { Tensor, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import { type ActivationName, ACTIVATIONS } from './activation.js'
import { deviceRecurrences, type SynchronousDevice } from './device_recurrences.js'
import { gruRecurrence } from './gru_recurrence.js'
import { lstmRecurrence } from './lstm_recurrence.js'
import { stepMask } from './mask.js'
import { planCall } from './plan_call.js'
import type { ComputableCall, PlannedCell, RecurrentCall, RecurrentLayer } from './recurrent_layer.js'
import { recurrentOperation } from './recurrent_operation.js'
import type { Kernels, Recurrences } from './sequence.js'
import { simpleRecurrence } from './simple_recurrence.js'
import { recurrentClasses, type TensorFlow } from './tensor_flow.js'

/** How a layer was computed when it was called last. */
export interface LayerReport {
  /** The layer's name. */
  readonly layer: string
  /** `LSTM`, `GRU`, `SimpleRNN`, `RNN`, … */
  readonly className: string
  /** The executor's name, or `tensorflow.js`. */
  readonly computedBy: string
  /** Why TensorFlow.js computed it; undefined if the executor did. */
  readonly reason: string | undefined
}

const OPTIONS = {
  /** Called when a layer is passed on to TensorFlow.js, once per layer and reason. The call of that layer throws its errors. */
  onPassedOn: optional<(report: LayerReport) => void>(FUNCTION),
}

interface AccelerateOptions extends OptionsOf<typeof OPTIONS> {}

/** TensorFlow.js with its recurrent layers on an executor, until it is disposed. */
export interface Acceleration {
  /**
   * One entry for each recurrent layer that was called, in the order of their first calls, at most the last 1,000; two models'
   * layers may have one name.
   */
  report(): LayerReport[]
  /** TensorFlow.js computes its layers itself again, those that exist included. The executor stays open. Idempotent. */
  dispose(): void
  [Symbol.dispose](): void
}

const ACCELERATED: unique symbol = Symbol('accelerated')

/** A process may build models for years. */
const MOST_REPORTS = 1000

/** The prototype of TensorFlow.js's RNN, whose `call` every recurrent layer ends in. */
interface RnnPrototype {
  call: RecurrentCall & { readonly [ACCELERATED]?: true }
}

/**
 * Has the recurrent layers of TensorFlow.js computed by an executor: `lstm`, `gru`, `simpleRNN`, `rnn` over such cells and
 * stacks of them, `bidirectional` and models loaded from files, those made before included. Weights stay TensorFlow.js's variables.
 *
 * A call that the executor cannot compute is passed on to TensorFlow.js: recurrent dropout in training, dropout of cells
 * in `rnn`, activations other than the README's, cells of other classes. `report()` names them.
 *
 * @param tf the module `@tensorflow/tfjs`, with any of its backends.
 * @param backend computes in float32 while its caller waits: `cpu`, `wasm`, `reference`, `cudnn`. It must outlive the acceleration.
 *   On `cudnn` a call blocks JavaScript until the GPU has computed it, and throws RangeError `ERR_EXECUTOR_BUSY` while another call
 *   of the executor prepares a new shape.
 * @throws TypeError `ERR_TFJS_MODULE`, `ERR_TFJS_BACKEND`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError
 *   `ERR_TFJS_ACCELERATED`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { accelerate } from '@cudnn-rnn/tfjs'
 * import * as tf from '@tensorflow/tfjs'
 *
 * await tf.setBackend('cpu')
 * const acceleration = accelerate(tf, await openBackend('reference'))
 * const model = tf.sequential({ layers: [tf.layers.lstm({ units: 4, inputShape: [5, 3] })] })
 * const output = model.predict(tf.ones([2, 5, 3])) as tf.Tensor
 * console.log(output.shape, acceleration.report().map(({ computedBy }) => computedBy)) // [2, 4] ['reference']
 * acceleration.dispose()
 * ```
 */
export function accelerate(tf: TensorFlow, backend: Backend, options: AccelerateOptions = {}): Acceleration {
  const given = checkOptions('accelerate TensorFlow.js', options, OPTIONS)
  const classes = recurrentClasses(tf)
  const recurrences = recurrencesOf(backend)
  const prototype = classes.rnn.prototype as RnnPrototype
  const original = prototype.call
  if (original[ACCELERATED]) {
    throw codedRangeError(
      'ERR_TFJS_ACCELERATED',
      'Cannot accelerate as this TensorFlow.js is accelerated already. Dispose the result of the first call.',
    )
  }
  // By the layer and not by its name: layers of two models may have one name. Weak, as models are disposed.
  const reasonsOf = new WeakMap<RecurrentLayer, Set<string>>()
  /** By the reasons of their layers. */
  const reports = new Map<Set<string>, LayerReport>()
  let active = true

  const record = (layer: RecurrentLayer, reason: string | undefined) => {
    const reasons = reasonsOf.get(layer) ?? new Set<string>()
    const last = reports.get(reasons)
    if (last !== undefined && last.reason === reason) return
    const computedBy = reason === undefined ? backend.name : 'tensorflow.js'
    const report = { layer: layer.name, className: layer.getClassName(), computedBy, reason }
    reasonsOf.set(layer, reasons)
    reports.set(reasons, report)
    const [first] = reports.keys()
    if (reports.size > MOST_REPORTS && first !== undefined) reports.delete(first)
    if (reason === undefined || reasons.has(reason)) return
    reasons.add(reason)
    given.onPassedOn?.(report)
  }
  const accelerated: RecurrentCall = function (inputs, given): Tensor | Tensor[] {
    // Another library may have wrapped this function in the meantime.
    if (!active) return original.call(this, inputs, given)
    const call = planCall(classes, this, inputs, given, recurrences.activations)
    record(this, typeof call === 'string' ? call : undefined)
    return typeof call === 'string' ? original.call(this, inputs, given) : computeCall(tf, recurrences, this, call)
  }
  const marked = Object.assign(accelerated, { [ACCELERATED]: true as const })
  prototype.call = marked
  const dispose = () => {
    active = false
    if (prototype.call === marked) prototype.call = original
  }
  return { report: () => [...reports.values()], dispose, [Symbol.dispose]: dispose }
}

/** Throws TypeError `ERR_TFJS_BACKEND`. */
function recurrencesOf(backend: Backend): Recurrences {
  checkIsObject('accelerate TensorFlow.js', 'backend', backend)
  const { name, dtype, products, lstm } = backend
  if (dtype === 'float32' && products !== undefined) return hostRecurrences({ products, lstm })
  if (dtype === 'float32' && isSynchronous(backend)) return deviceRecurrences(backend)
  throw codedTypeError(
    'ERR_TFJS_BACKEND',
    `Cannot accelerate TensorFlow.js as the executor must compute in float32 while its caller waits (cpu, wasm, reference, cudnn): current executor is ${describeValue(name)} in ${describeValue(dtype)}`,
    { backend: name, dtype },
  )
}

function isSynchronous(backend: Backend): backend is Backend & SynchronousDevice {
  return backend.readSync !== undefined
}

/** The recurrences in host memory: the products by an executor, the rest here or in its LSTM. */
function hostRecurrences(kernels: Kernels): Recurrences {
  return {
    activations: Object.keys(ACTIVATIONS) as ActivationName[],
    run({ kind, activation, recurrentActivation }, o) {
      const candidate = ACTIVATIONS[activation]
      const gate = ACTIVATIONS[recurrentActivation]
      if (kind === 'simple') return simpleRecurrence(kernels, o, candidate)
      if (kind === 'gru') return gruRecurrence(kernels, o, gate, candidate)
      return lstmRecurrence(kernels, o, { gate, candidate, gateName: recurrentActivation, candidateName: activation })
    },
  }
}

/** `call` of a recurrent layer: its cells one after the other, each over the whole sequence. */
function computeCall(
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
