import type { Backend, BackendTensor } from '@cudnn-rnn/rnn'
import { Variable } from '@cudnn-rnn/rnn'

/** A trained variable and its two moments. */
export interface AdamSlots {
  readonly variable: Variable
  readonly firstMoment: Variable
  readonly secondMoment: Variable
}

/** Adam over a list of variables; moments of an opaque buffer have its layout, so they are saved canonically like it. */
export class Adam {
  readonly slots: readonly AdamSlots[]
  readonly #backend: Backend

  constructor(backend: Backend, variables: readonly Variable[]) {
    this.#backend = backend
    const zeros = (variable: Variable, slot: string) => {
      const { shape, layout } = variable.value
      return new Variable(backend, backend.zeros(shape, { layout }), `${variable.name}/${slot}`)
    }
    this.slots = variables.map((variable) => ({
      variable,
      firstMoment: zeros(variable, 'Adam'),
      secondMoment: zeros(variable, 'Adam_1'),
    }))
  }

  /** One update; `gradients` in the order of the variables, `step` counted from 1. */
  update(gradients: readonly BackendTensor[], learningRate: number, step: number): void {
    for (const [index, { variable, firstMoment, secondMoment }] of this.slots.entries()) {
      const [value, m, v] = [variable.value, firstMoment.value, secondMoment.value]
      this.#backend.ops.applyAdam(value, m, v, gradients[index]!, { learningRate, step })
    }
  }

  dispose(): void {
    for (const { firstMoment, secondMoment } of this.slots) {
      firstMoment.dispose()
      secondMoment.dispose()
    }
  }
}
