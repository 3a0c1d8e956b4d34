import {
  type BackendTensor,
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
  type TensorLike,
} from '@cudnn-rnn/backend'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { Arguments } from './arguments.js'
import type { StatementOf, Update } from './program.js'
import { type ProgramState, pick, pickOpaque } from './program_state.js'
import { type Begin, keepTensors } from './statement_effect.js'

export const beginTensor: Begin<StatementOf<'tensor'>> = (programState, { shape, argument }) => {
  const given = new Arguments(programState)
  const host = given.make(shape, argument)
  return given.around(async () => {
    const tensor = programState.backend.tensor(host as Tensor<FloatArray>)
    return { made: { tensor }, commit: () => keepTensors(programState, [tensor]) }
  })
}

export const beginRead: Begin<StatementOf<'read'>> = async (programState, { kind, index }) => {
  if (kind === 'opaque') {
    // In the executor's own order: the error alone counts here, and the shape has no meaning elsewhere.
    await pick(programState.opaques, index)?.variable.value.read()
    return {}
  }
  const made = pick(programState.tensors, index)
  if (made === undefined) return {}
  const { data, shape } = await made.tensor.read()
  return { values: { data: data.slice(), shape } }
}

export const beginUpdate: Begin<StatementOf<'update'>> = (programState, { kind, rule, target, source, rate }) => {
  const isOpaque = kind === 'opaque'
  const opaque = isOpaque ? pick(programState.opaques, target) : undefined
  const variable = isOpaque ? opaque?.variable.value : pick(programState.tensors, target)?.tensor
  if (variable === undefined) return undefined
  const given = new Arguments(programState)
  let operand: TensorLike | undefined
  // Elements of an opaque buffer mean something else on every executor: from the host it gets zeros alone.
  if (typeof source !== 'number') operand = given.make(variable.shape, source, isOpaque ? 0 : 1)
  else if (opaque !== undefined) operand = pickOpaque(programState, source, opaque.owner)?.variable.value
  else
    operand = pick(
      programState.tensors,
      source,
      ({ tensor }) => String(tensor.shape) === String(variable.shape),
    )?.tensor
  if (operand === undefined) return undefined
  return given.around(async () => {
    update(programState, rule, variable, operand, rate)
    return {}
  })
}

function update(
  { backend }: ProgramState,
  rule: Update,
  variable: BackendTensor,
  source: TensorLike,
  rate: number,
): void {
  const { ops } = backend
  if (rule === 'assign') ops.assign(variable, source)
  else if (rule === 'accumulate') ops.accumulate(variable, source, rate)
  else if (rule === 'clip') ops.clipByValue([variable, source as BackendTensor], rate)
  else {
    const { layout } = variable
    const slots = OPTIMIZER_RULES[rule].slots.map(() => backend.zeros(variable.shape, { layout }))
    try {
      ops.update(rule, variable, slots as unknown as OptimizerSlots, source, optionsOf(rule, rate))
    } finally {
      for (const slot of slots) slot.dispose()
    }
  }
}

/** Values of options without a default, by name. */
const VALUES = { momentum: 0.5, epsilon: 0.1, step: 1 }

function optionsOf(rule: OptimizerRule, rate: number): OptimizerOptions {
  const all: Readonly<Record<string, number>> = { ...VALUES, learningRate: rate, rate }
  const given = Object.keys(OPTIMIZER_RULES[rule].options).map((name) => [name, all[name]])
  return Object.fromEntries(given) as OptimizerOptions
}

export const beginDense: Begin<StatementOf<'dense'>> = (programState, { what, sizes: [n, i, o], argument }) => {
  const { ops } = programState.backend
  const given = new Arguments(programState)
  const other = { form: argument.form, fill: argument.fill + 2 }
  const ids = () =>
    programState.backend.tensor({ data: Int32Array.from({ length: n }, (_, k) => (k * 7 + n) % o), shape: [n] })
  const begin = (): Readonly<Record<string, BackendTensor>> => {
    if (what === 'linear') {
      return { output: ops.linear(given.make([n, i], argument), given.make([i, o], other), given.make([o], other)) }
    }
    if (what === 'linearGradients') {
      return {
        ...ops.linearGradients(given.make([n, i], other), given.make([i, o], other), given.make([n, o], argument)),
      }
    }
    using labels = ids()
    if (what === 'embedding') {
      // Ids that no row has are refused on host executors alone.
      const table = argument.fault === 'empty' ? other : argument
      return { output: ops.embedding(given.make([o, i], table), labels) }
    }
    if (what === 'embeddingGradient') return { table: ops.embeddingGradient(o, labels, given.make([n, i], argument)) }
    return { ...ops.softmaxCrossEntropy(given.make([n, o], argument), labels, given.make([n], { ...other, fill: 1 })) }
  }
  return given.around(async () => {
    const made = begin()
    return { made, commit: () => keepTensors(programState, Object.values(made)) }
  })
}

export const beginNorm: Begin<StatementOf<'norm'>> = async (programState, { tensors, limit }) => {
  const chosen = new Set(tensors.map((index) => pick(programState.opaques, index)?.variable.value))
  chosen.delete(undefined)
  if (chosen.size === 0) return {}
  const { ops } = programState.backend
  const operands = [...chosen] as BackendTensor[]
  const norm = limit === undefined ? ops.globalNorm(operands) : ops.clipByGlobalNorm(operands, limit)
  return { made: { norm }, commit: () => keepTensors(programState, [norm]) }
}
