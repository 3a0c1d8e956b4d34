import { Adagrad } from './adagrad.js'
import { Adam } from './adam.js'
import type { Optimizer } from './optimizer.js'
import { RmsProp } from './rms_prop.js'
import { Sgd } from './sgd.js'
import type { Trainable } from './trainable.js'

/** Makes the optimizer of variables; `fit` disposes its slots. */
export type MakeOptimizer = (variables: readonly Trainable[]) => Optimizer

/** Optimizers by the names that `fit` takes; `momentum` is SGD with momentum 0.9, `adamw` Adam with a weight decay of 0.01. */
export const OPTIMIZERS = {
  adam: (variables) => new Adam(variables),
  adamw: (variables) => new Adam(variables, { weightDecay: 0.01 }),
  sgd: (variables) => new Sgd(variables),
  momentum: (variables) => new Sgd(variables, { momentum: 0.9 }),
  rmsprop: (variables) => new RmsProp(variables),
  adagrad: (variables) => new Adagrad(variables),
} as const satisfies Readonly<Record<string, MakeOptimizer>>

export type OptimizerName = keyof typeof OPTIMIZERS
