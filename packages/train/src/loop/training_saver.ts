import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'

/** JSON data of a checkpoint, beside its tensors. */
export interface TrainingRecord {
  /** Updates done. */
  readonly step: number
  /** Updates of the optimizer; falls behind `step` when updates were skipped. */
  readonly optimizerStep: number
  /** Position of the data. */
  readonly position: Position
  /** The best value of the watched metric and the evaluations since; null before the first. */
  readonly best: { readonly value: number; readonly step: number; readonly evaluationsSince: number } | null
  /** Updates skipped one after the other for gradients that were not finite. */
  readonly skippedInARow: number
  /** The report of `step`, whose evaluation was aborted: it is due when the run continues. */
  readonly unevaluated?: Position | undefined
  /** Result of the caller's `state.save`: dropout generators, for example. Over several ranks, a list of all ranks' results. */
  readonly extra: Position
  /** Number of ranks; absent for one process. */
  readonly ranks?: number | undefined
  /** Texts of the settings that a run which continues must share. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** Refuses a checkpoint by its record. */
export type CheckRecord = (record: TrainingRecord) => void

/** A checkpoint that a restore passed over as it is damaged or lacks a file. */
export interface SkippedCheckpoint {
  /** Path of the checkpoint, or of the file that lists them. */
  readonly path: string
  /** Code of the error that reading it gave. */
  readonly code: string
  readonly message: string
}

/** The record of the checkpoint that was restored. */
export interface RestoredRecord extends TrainingRecord {
  /** Newer checkpoints that were passed over, newest first; absent if there are none. */
  readonly skipped?: readonly SkippedCheckpoint[] | undefined
}

/**
 * Takes checkpoints; file formats are its responsibility. An opaque buffer's `value.layout` states that it must be saved
 * through its model's canonical map to be read by another executor.
 */
export interface TrainingSaver {
  /** Must be atomic: a process that dies meanwhile leaves the checkpoint before. */
  save(kind: 'latest' | 'best', tensors: readonly Trainable[], record: TrainingRecord): Promise<void>
  /**
   * Writes the newest whole checkpoint into the tensors and returns its record; undefined, touching nothing, if none was
   * ever saved. Rejects if some were saved and none is whole: a run must not start over without notice.
   *
   * @param check called with the record before any tensor is written; its error ends the restore
   */
  restore(
    tensors: readonly Trainable[],
    kind?: 'latest' | 'best',
    check?: CheckRecord,
  ): Promise<RestoredRecord | undefined>
  /** Keeps other processes from training with these checkpoints; `fit` disposes the lock when it ends. */
  lock?(): Promise<AsyncDisposable>
}
