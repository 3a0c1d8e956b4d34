import type { DenseOps, FloatDType, TensorLike } from '@cudnn-rnn/ops'
import type { Tensor } from '@cudnn-rnn/canonical'
import { checkCtcLoss } from '../arguments/ctc_problem.js'
import { dropoutMask } from './dropout_mask.js'
import { type CtcLossOptions, ELEMENT_LOSSES } from './operation_types.js'
import {
  ACTIVATION,
  checkedWithOperands,
  choice,
  columnIndex,
  DRAW,
  hyperparameter,
  MAXIMUM,
  optional,
  POOLING,
  PROBABILITY,
  SEED,
} from './option_rules.js'
import { type GradientArguments, type GradientNameOf, type GradientRule, type KernelArguments, row } from './row.js'
import { TENSOR_ROWS } from './tensor_rows.js'

const DROPOUT = { rate: PROBABILITY, seed: SEED, draw: DRAW }
const POOL = {
  pooling: POOLING,
  reversedFrom: optional(
    columnIndex('an integer from 0 to the number of columns', ({ columns }) => columns, 2),
    ({ columns }) => columns,
  ),
}

/** The rule of a loss that computes its gradient with itself. */
function gradientMade<const Made extends string>(made: Made, operand: string): GradientRule<readonly [Made]> {
  return {
    reads: [made],
    made: operand,
    pass: (given, { ops, read }) => ({ [operand]: ops.multiply(read[made], given) }),
  }
}

// Examples in the sizes of EXAMPLE_SIZES.
const CTC_LABELS = { data: Int32Array.of(0, 1, 1, 0), shape: [2, 2] }
const CTC_OPTIONS = { logitLengths: [4, 3], labelLengths: [2, 1], blank: 2 }

/**
 * Every operation of the contract that makes new tensors: `ops.<name>`, its checks, the order of its kernel's arguments and
 * its documentation follow. {@link Statements} change tensors.
 */
export const OPERATIONS = {
  linear: row({
    action: 'apply linear',
    takes: ['input […,I]', 'kernel [I,O]', 'bias [O]'],
    gives: ['output […,O]'],
    measure: 'kernel',
    gradient: { name: 'linearGradients', action: 'apply linear', reads: ['input', 'kernel'] },
  }),
  embedding: row({
    action: 'look up embeddings',
    takes: ['table [V,E]', 'ids:0..V-1 […]'],
    gives: ['output […,E]'],
    gradient: { name: 'embeddingGradient', action: 'add up the embedding gradient', reads: ['ids'] },
  }),
  activate: row({
    action: 'apply an activation',
    takes: ['input […,E]', 'activation'],
    gives: ['output […,E]'],
    options: { activation: ACTIVATION, maximum: MAXIMUM },
    gradient: { name: 'activationGradient', action: "compute an activation's gradient", reads: ['output'] },
  }),
  dropout: row({
    action: 'apply dropout',
    takes: ['input […]'],
    gives: ['output […]'],
    options: DROPOUT,
    complete: dropoutMask,
    gradient: {
      pass: (dy, { ops, options: { rate, seed, draw } }) => ({ input: ops.dropout(dy, { rate, seed, draw }) }),
    },
  }),
  layerNorm: row({
    action: 'normalize a layer',
    takes: ['input […,E]', 'gamma [E]', 'beta [E]'],
    gives: ['output […,E]'],
    options: { epsilon: hyperparameter(0, 1e-3) },
    gradient: {
      name: 'layerNormGradients',
      action: 'compute the gradients of a normalized layer',
      reads: ['input', 'gamma'],
    },
  }),
  maskSequence: row({
    action: 'mask a sequence',
    takes: ['input [T,B,E]', 'lengths?:0..T [B]'],
    gives: ['output [T,B,E]'],
    gradient: {
      reads: ['lengths'],
      pass: (dy, { ops, read }) => ({ input: ops.maskSequence(dy, read['lengths'] ?? null) }),
    },
  }),
  reverseSequence: row({
    action: 'reverse a sequence',
    takes: ['input [T,B,E]', 'lengths?:0..T [B]'],
    gives: ['output [T,B,E]'],
    gradient: {
      reads: ['lengths'],
      pass: (dy, { ops, read }) => ({ input: ops.reverseSequence(dy, read['lengths'] ?? null) }),
    },
  }),
  poolSequence: row({
    action: 'pool a sequence',
    takes: ['input [T,B,E]', 'lengths?:0..T [B]'],
    gives: ['output [B,E]'],
    options: POOL,
    gradient: { name: 'poolSequenceGradient', action: "compute a pooling's gradient", reads: ['input', 'lengths'] },
  }),
  attend: row({
    action: 'attend to a sequence',
    takes: ['input [T,B,E]', 'scores [T,B,1]', 'lengths?:0..T [B]'],
    gives: ['output [B,E]'],
    keeps: ['weights [T,B,1]'],
    gradient: {
      name: 'attendGradients',
      action: 'compute the gradients of attention',
      reads: ['input', 'weights'],
    },
  }),
  phasedGate: row({
    action: 'open phased gates',
    takes: ['times [B,1]', 'variables.period [U]', 'variables.phase [U]', 'variables.ratioOn [U]'],
    gives: ['output [B,U]'],
    options: { leak: hyperparameter(Number.NEGATIVE_INFINITY, 0.001) },
    isOfDevices: true,
    gradient: {
      name: 'phasedGateGradients',
      action: 'compute the gradients of phased gates',
      reads: ['times', 'period', 'phase', 'ratioOn'],
    },
  }),
  softmaxCrossEntropy: row({
    action: 'compute softmax cross-entropy',
    takes: ['logits […,V]', 'labels:0..V-1 […]', 'weights? […]'],
    gives: ['loss []'],
    keeps: ['logitsGradient […,V]'],
    gradient: gradientMade('logitsGradient', 'logits'),
  }),
  elementLoss: row({
    action: 'compute a loss',
    takes: ['predictions […,E]', 'targets […,E]', 'loss', 'weights? […]'],
    gives: ['loss []'],
    keeps: ['gradient […,E]'],
    options: { loss: choice(ELEMENT_LOSSES) },
    gradient: gradientMade('gradient', 'predictions'),
  }),
  ctcLoss: row({
    action: 'compute the CTC loss',
    takes: ['logits [T,B,K]', 'labels', 'options'],
    gives: ['loss []'],
    keeps: ['rowLosses [B]', 'logitsGradient [T,B,K]'],
    asks: true,
    gradient: gradientMade('logitsGradient', 'logits'),
    options: {
      labels: checkedWithOperands<Tensor<Int32Array>>('int32 [B,S], on the host', CTC_LABELS),
      options: checkedWithOperands<CtcLossOptions>('lengths of logits and labels, the blank, and rules', CTC_OPTIONS),
    },
    complete: (
      { labels, options }: { readonly labels: Tensor<Int32Array>; readonly options: CtcLossOptions },
      [logits]: readonly [TensorLike],
      dtype: FloatDType,
    ) => checkCtcLoss(dtype, logits, labels, options),
  }),
  ...TENSOR_ROWS,
}

type Table = typeof OPERATIONS
type Kernel<Name extends keyof DenseOps, Arguments extends readonly unknown[]> = (
  ...call: Arguments
) => ReturnType<NonNullable<DenseOps[Name]>>
type AllKernels = { readonly [Name in keyof Table]: Kernel<Name, KernelArguments<Table[Name]>> } & {
  readonly [Name in keyof Table as GradientNameOf<Table[Name]>]: Kernel<
    GradientNameOf<Table[Name]>,
    GradientArguments<Table[Name]>
  >
}

/** Names of operations with a row, and of their gradients. */
export type RowName = keyof AllKernels

type OptionalName = { [Name in RowName]: undefined extends DenseOps[Name] ? Name : never }[RowName]

/**
 * A kernel for each row and each gradient, but for those that the contract leaves to executors. Operands are checked: a kernel
 * that throws has changed nothing.
 */
export type RowKernels = Omit<AllKernels, OptionalName> & Partial<Pick<AllKernels, OptionalName>>

/** Rows that take tensors of any shape. */
export type TensorRowName = keyof typeof TENSOR_ROWS

/** Rows whose kernels executors in host memory have. */
export type HostRowName = Exclude<RowName, 'phasedGate' | 'phasedGateGradients'>

/** The operands of one kernel, in their order. */
export type KernelOperands<Name extends RowName> = Parameters<AllKernels[Name]>[0]

/** The sizes and options of one kernel. */
export type KernelNumbers<Name extends RowName> = Parameters<AllKernels[Name]>[1]
