import { required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import { Adagrad, Adam, type BatchResult, Dataset, fit, type Optimizer, RmsProp, Sgd } from '@cudnn-rnn/train'
import { makeArgument } from './arguments.js'
import { callModel, modelGradients } from './call_model.js'
import type { StatementOf } from './program.js'
import { type MadeOpaque, type ProgramState, pick, pickOpaque } from './program_state.js'
import type { Begin } from './statement_effect.js'

/** Large enough that rounding of a gradient near zero does not decide an update. */
const EPSILON = 0.1

export const beginOptimizer: Begin<StatementOf<'optimizer'>> = async (programState, statement) => {
  const opaques = [...new Set(statement.params.map((index) => pick(programState.opaques, index)))]
  const chosen = opaques.filter((opaque) => opaque !== undefined)
  if (chosen.length === 0) return {}
  const optimizer = makeOptimizer(chosen, statement)
  return { commit: () => void programState.optimizers.push({ optimizer, opaques: chosen, isGone: false }) }
}

function makeOptimizer(
  opaques: readonly MadeOpaque[],
  { rule, tensorflow, weightDecay }: StatementOf<'optimizer'>,
): Optimizer {
  const variables = opaques.map(({ variable }) => variable)
  const options = { weightDecay, definition: tensorflow ? 'tensorflow' : 'pytorch' } as const
  if (rule === 'sgd') return new Sgd(variables, options)
  if (rule === 'momentum') return new Sgd(variables, { ...options, momentum: 0.9, nesterov: true })
  if (rule === 'adam') return new Adam(variables, { ...options, epsilon: EPSILON })
  if (rule === 'rmsProp') return new RmsProp(variables, { ...options, epsilon: EPSILON })
  return new Adagrad(variables, { ...options, epsilon: EPSILON })
}

export const beginApply: Begin<StatementOf<'apply'>> = async (
  programState,
  { optimizer: index, gradients, rate, foreign },
) => {
  const made = pick(programState.optimizers, index)
  if (made === undefined) return {}
  const chosen = made.opaques.map((opaque, k) =>
    pickOpaque(programState, gradients[k % gradients.length], opaque.owner),
  )
  const tensors = chosen.flatMap((gradient) => (gradient === undefined ? [] : [gradient.variable.value]))
  if (tensors.length < chosen.length) return {}
  if (!foreign) {
    made.optimizer.apply(tensors, rate)
    return {}
  }
  const { shape } = tensors[tensors.length - 1]
  const { tensor, release } = makeArgument(programState, shape, { form: 'own', fill: 0, fault: 'foreign' }, 0)
  try {
    made.optimizer.apply([...tensors.slice(0, -1), tensor], rate)
  } finally {
    release()
  }
  return {}
}

export const beginTrain: Begin<StatementOf<'train'>> = (programState, statement) => {
  const made = pick(programState.optimizers, statement.optimizer)
  if (made === undefined) return undefined
  const { optimizer, opaques } = made
  const norms: number[] = []
  return fit({
    optimizer,
    ...(statement.maxNorm !== undefined && { clipNorm: statement.maxNorm }),
    data: Dataset.fromArray([0, 1, 2]).repeat(),
    batchGradients: (fill) => batchGradients(programState, opaques, fill, statement),
    learningRate: () => 0.05,
    maxSteps: statement.times,
    accumulate: statement.batches,
    onStep: ({ gradientNorm, loss }) => void norms.push(gradientNorm, loss),
  }).then(() => ({ values: { norms } }))
}

/** The gradients of half the sum of squares of all outputs, for every variable. */
async function batchGradients(
  programState: ProgramState,
  opaques: readonly MadeOpaque[],
  fill: number,
  statement: StatementOf<'train'>,
): Promise<BatchResult> {
  const gradients: BackendTensor[] = []
  const outputs: BackendTensor[] = []
  try {
    for (const { owner, variable } of opaques) {
      const { time, batch } = statement
      const form = fill % 2 === 0 ? 'own' : 'host'
      const { tensor, release } = makeArgument(programState, [time, batch, owner.model.inputSize], { form, fill })
      try {
        const { output, outputH, outputC, tape } = await callModel(owner.model, tensor, null, null, variable, statement)
        outputs.push(output)
        for (const unused of [outputH, outputC]) unused?.dispose()
        using opened = required(tape, 'a training call has a tape')
        const { params, ...rest } = await modelGradients(owner.model, opened, { output })
        gradients.push(params)
        for (const unused of Object.values(rest)) unused?.dispose()
      } finally {
        release()
      }
    }
    const loss = programState.backend.ops.globalNorm(outputs)
    return { loss, gradients: gradients.splice(0) }
  } finally {
    for (const unused of [...outputs, ...gradients]) unused.dispose()
  }
}
