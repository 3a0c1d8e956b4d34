import type { Backend } from '@cudnn-rnn/backend'
import { Adagrad } from './adagrad.js'
import { Adam } from './adam.js'
import type { Optimizer } from './optimizer.js'
import { RmsProp } from './rms_prop.js'
import { Sgd } from './sgd.js'
import type { Trainable } from './trainable.js'

/** Makes the optimizer of variables; `fit` disposes its slots. */
export type MakeOptimizer = (backend: Backend, variables: readonly Trainable[]) => Optimizer

/** Optimizers by the names that `fit` takes; `momentum` is SGD with momentum 0.9. */
export const OPTIMIZERS = {
  adam: (backend, variables) => new Adam(backend, variables),
  sgd: (backend, variables) => new Sgd(backend, variables),
  momentum: (backend, variables) => new Sgd(backend, variables, { momentum: 0.9 }),
  rmsprop: (backend, variables) => new RmsProp(backend, variables),
  adagrad: (backend, variables) => new Adagrad(backend, variables),
} as const satisfies Readonly<Record<string, MakeOptimizer>>

export type OptimizerName = keyof typeof OPTIMIZERS
