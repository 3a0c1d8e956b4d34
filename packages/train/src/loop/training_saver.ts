import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'

/** What a checkpoint holds beside tensors: plain JSON. */
export interface TrainingRecord {
  /** Updates done. */
  readonly step: number
  /** Of the optimizer; falls behind `step` when updates were skipped. */
  readonly optimizerStep: number
  /** Of the data. */
  readonly position: Position
  /** The best value of the watched metric and the evaluations since; null before the first. */
  readonly best: { readonly value: number; readonly step: number; readonly evaluationsSince: number } | null
  /** Updates skipped one after the other for gradients that were not finite. */
  readonly skippedInARow: number
  /** What the caller's `state.save` returned: dropout generators, for example. */
  readonly extra: Position
}

/**
 * Where checkpoints go; file formats are its business. An opaque buffer's `value.layout` tells that it must be saved
 * through its model's canonical map to be read by another executor.
 */
export interface TrainingSaver {
  /** Must be atomic: a process that dies meanwhile leaves the checkpoint before. */
  save(kind: 'latest' | 'best', tensors: readonly Trainable[], record: TrainingRecord): Promise<void>
  /** Writes the latest checkpoint into the tensors and returns its record; undefined, touching nothing, without one. */
  restore(tensors: readonly Trainable[]): Promise<TrainingRecord | undefined>
}
