import { ACTIVATIONS, type ActivationName } from './activation.js'
import { gruRecurrence } from './gru_recurrence.js'
import { lstmRecurrence } from './lstm_recurrence.js'
import type { Recurrences } from './recurrences.js'
import type { Kernels } from './sequence.js'
import { simpleRecurrence } from './simple_recurrence.js'

/** The recurrences in host memory: the products by an executor, the rest here or in its LSTM. */
export function hostRecurrences(kernels: Kernels): Recurrences {
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
